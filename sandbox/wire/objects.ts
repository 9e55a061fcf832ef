import type Stripe from 'stripe';
import type { Interval } from '../billing/calendar.ts';
import type { Shipping } from '../payments/address.ts';

/**
 * The objects as the sandbox stores them: the package's own types, with two differences. References are ids, which
 * `expand` replaces in responses. Decimals are strings, as on the wire, where the package parses them into its own
 * class. Objects are immutable: a change creates a new object, so events can share objects with the store.
 */
type WithIds<T, K extends keyof T> = Omit<T, K> & { [P in K]: Extract<T[P], string | null> };
/** The same, with other parts that differ from the package's type. */
type Stored<T, K extends keyof T, Parts> = Omit<WithIds<T, K>, keyof Parts> & Parts;

export type Customer = Stored<
  Stripe.Customer,
  'default_source' | 'test_clock',
  { invoice_settings: WithIds<Stripe.Customer.InvoiceSettings, 'default_payment_method'> }
>;
export type DeletedCustomer = Stripe.DeletedCustomer;
export type Product = Stripe.Product;
/** The sandbox creates prices only with these intervals. The package's type allows more. */
type Recurring = Omit<Stripe.Price.Recurring, 'interval'> & { interval: Interval };
export type Price = Stored<
  Stripe.Price,
  'product',
  { recurring: Recurring | null; unit_amount_decimal: string | null }
>;
export type CurrencyOption = Omit<Stripe.Price.CurrencyOptions, 'tiers' | 'unit_amount_decimal'> &
  Pick<Price, 'unit_amount_decimal'>;
/** The tiers and currencies of a price, which callers see only when they expand them. The id is that of the price. */
export interface PriceTiers extends WireObject {
  readonly object: 'price_tiers';
  readonly tiers: readonly (Omit<Stripe.Price.Tier, 'flat_amount_decimal' | 'unit_amount_decimal'> & {
    flat_amount_decimal: string | null;
    unit_amount_decimal: string | null;
  })[];
  readonly currencies?: Readonly<Record<string, CurrencyOption>>;
}
export type Plan = Stored<Stripe.Plan, 'product', { amount_decimal: string | null }>;
export type Token = Omit<Stripe.Token, 'card'> & { card?: Stripe.Card };
/** With its payment method, which callers see only after the token is used. */
export type ConfirmationToken = Omit<Stripe.ConfirmationToken, 'shipping'> & {
  payment_method: string;
  shipping: Shipping | null;
};
export type PaymentMethod = WithIds<Stripe.PaymentMethod, 'customer'>;
/** Records that a payment method must not be used again. Callers never see this object. */
export interface SpentPaymentMethod extends WireObject {
  readonly object: 'spent_payment_method';
}
export type PaymentIntent = WithIds<Stripe.PaymentIntent, 'customer' | 'latest_charge' | 'payment_method'>;
export type SetupIntent = WithIds<Stripe.SetupIntent, 'customer' | 'latest_attempt' | 'payment_method'>;
export type SetupAttempt = WithIds<Stripe.SetupAttempt, 'customer' | 'payment_method' | 'setup_intent'>;
export type TaxRate = Stripe.TaxRate;
export type TaxId = WithIds<Stripe.TaxId, 'customer'>;
export type BalanceTransaction = WithIds<Stripe.BalanceTransaction, 'source'>;
export type Charge = WithIds<Stripe.Charge, 'balance_transaction' | 'customer' | 'payment_intent'>;
export type Refund = WithIds<Stripe.Refund, 'balance_transaction' | 'charge' | 'payment_intent' | 'customer'>;
export type Dispute = Stored<
  Stripe.Dispute,
  'charge' | 'payment_intent',
  { balance_transactions: BalanceTransaction[] }
>;
export type SubscriptionItem = Stored<Stripe.SubscriptionItem, never, { plan: Plan; price: Price }>;
export type Subscription = Stored<
  Stripe.Subscription,
  | 'customer'
  | 'default_payment_method'
  | 'latest_invoice'
  | 'pending_setup_intent'
  | 'schedule'
  | 'test_clock',
  { discounts: string[]; items: List<SubscriptionItem>; pending_update: PendingUpdate | null }
>;
type PendingUpdate = Stored<
  Stripe.Subscription.PendingUpdate,
  never,
  { subscription_items: SubscriptionItem[] | null }
>;
type ScheduleItem = Stored<
  Stripe.SubscriptionSchedule.Phase.Item,
  never,
  { plan: string; price: string; quantity?: number }
>;
export type SchedulePhase = Stored<
  Stripe.SubscriptionSchedule.Phase,
  'default_payment_method',
  {
    discounts: { coupon: string | null; discount: string | null; promotion_code: string | null }[];
    items: ScheduleItem[];
  }
>;
export type SubscriptionSchedule = Stored<
  Stripe.SubscriptionSchedule,
  'customer' | 'subscription' | 'test_clock',
  {
    default_settings: WithIds<Stripe.SubscriptionSchedule.DefaultSettings, 'default_payment_method'>;
    phases: SchedulePhase[];
  }
>;
export type Coupon = Stripe.Coupon;
/** The terms of a deleted coupon, for the discounts that it gave. Callers never see this object. */
export type DeletedCoupon = Omit<Coupon, 'object'> & { object: 'deleted_coupon' };
type CouponRef = { type: 'coupon'; coupon: string };
export type PromotionCode = Stored<Stripe.PromotionCode, 'customer', { promotion: CouponRef }>;
export type Discount = Stored<Stripe.Discount, 'customer' | 'promotion_code', { source: CouponRef }>;
export type InvoiceLine = Omit<
  Stripe.InvoiceLineItem,
  'pricing' | 'quantity_decimal' | 'subscription' | 'taxes'
> & {
  pricing: Pricing;
  quantity_decimal: string | null;
  subscription: string | null;
  taxes: (NonNullable<Stripe.InvoiceLineItem['taxes']>[number] & {
    tax_rate_details: { tax_rate: string };
  })[];
};
/** An amount without a price has only a unit amount. A tiered price has none. */
export interface Pricing {
  type: 'price_details';
  price_details?: { price: string; product: string };
  unit_amount_decimal: string | null;
}
export type InvoiceItem = Omit<
  WithIds<Stripe.InvoiceItem, 'customer' | 'invoice'>,
  'deleted' | 'parent' | 'pricing' | 'quantity_decimal'
> & {
  /** A proration also names its subscription item. */
  parent: {
    subscription_details: { subscription: string; subscription_item?: string };
    type: 'subscription_details';
  } | null;
  pricing: Pricing;
  quantity_decimal: string;
};
export type Invoice = Omit<
  WithIds<Stripe.Invoice, 'customer' | 'default_payment_method' | 'test_clock'>,
  'discounts' | 'lines' | 'parent'
> & {
  discounts: string[];
  lines: List<InvoiceLine>;
  /** Null for a one-off invoice. */
  parent: {
    quote_details: null;
    /** Only a preview of prorations has their date. */
    subscription_details: {
      metadata: Stripe.Metadata;
      subscription: string;
      subscription_proration_date?: number;
    };
    type: 'subscription_details';
  } | null;
};
export type InvoicePayment = WithIds<Stripe.InvoicePayment, 'invoice'> & {
  payment: { type: 'payment_intent'; payment_intent: string };
};
/** What a session of the customer portal offers. */
export type PortalConfiguration = WithIds<Stripe.BillingPortal.Configuration, 'application'>;
export type PortalSession = WithIds<Stripe.BillingPortal.Session, 'configuration'>;
/** A line of a checkout session. Its price is a copy, as in subscription items. */
export type LineItem = Omit<Stripe.LineItem, 'discounts' | 'price' | 'taxes'> & { price: Price };
export type CheckoutSession = Omit<
  WithIds<
    Stripe.Checkout.Session,
    'customer' | 'invoice' | 'payment_intent' | 'payment_link' | 'setup_intent' | 'subscription'
  >,
  'discounts' | 'line_items' | 'mode'
> & {
  /** The sandbox creates sessions only in these modes. The package's type allows more. */
  mode: 'payment' | 'setup' | 'subscription';
  discounts: { coupon: string | null; promotion_code: string | null }[];
  /** Callers never see this part. */
  terms: CheckoutTerms;
};
/** What a checkout session sells, and what it creates when it completes. */
export interface CheckoutTerms {
  readonly lines: readonly LineItem[];
  /** What the discounts take off each line. */
  readonly taken: readonly (readonly { readonly amount: number; readonly discount: string }[])[];
  readonly discounts: readonly Discount[];
  /** Whether what the buyer enters replaces that of an existing customer. */
  readonly updates: Readonly<Record<'address' | 'name' | 'shipping', boolean>>;
  readonly payment: Partial<PaymentIntent>;
  readonly subscription: {
    readonly details: Pick<Subscription, 'billing_mode'> & Partial<Subscription>;
    readonly trialDays: number | null;
    readonly trialEnd: number | null;
  };
  /** The intent of the last attempt. The session shows it only in the mode `payment` or `setup`. */
  readonly intent: string | null;
  /** The customer of the last attempt. The session shows a new customer only when it is complete. */
  readonly customer: string | null;
  /** What the buyer entered at the last attempt. */
  readonly buyer: Stripe.PaymentMethod.BillingDetails | null;
  readonly shipping: Pick<Shipping, 'address' | 'name'> | null;
}
export type Meter = Stripe.Billing.Meter;
export type TestClock = Stripe.TestHelpers.TestClock;
export type Account = Stripe.Account;
export type WebhookEndpoint = Stripe.WebhookEndpoint & { secret: string };
export type EventType = Stripe.Event.Type;

export interface List<T> {
  object: 'list';
  data: T[];
  has_more: boolean;
  url: string;
}

/** Any object of the wire API. */
export interface WireObject {
  readonly id: string;
  readonly object: string;
}
