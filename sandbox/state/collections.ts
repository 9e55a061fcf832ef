import type * as Wire from '../wire/objects.ts';
import { Collection, type Kind } from './collection.ts';

export type AnyCollection = Collection<Wire.WireObject>;

/** Every kind of object, with the indexes that its lists are read from. */
export class Collections {
  readonly #byName = new Map<string, AnyCollection>();

  readonly customers = this.#add<Wire.Customer | Wire.DeletedCustomer>({
    name: 'customers',
    noun: 'customer',
    idPrefix: 'cus_',
    idLength: 14,
    indexes: {
      metadata: metadataKeys,
      email: (customer) => ['email' in customer ? customer.email : null],
      test_clock: (customer) => ['test_clock' in customer ? customer.test_clock : null],
    },
  });
  readonly products = this.#add<Wire.Product>({
    name: 'products',
    noun: 'product',
    idPrefix: 'prod_',
    idLength: 14,
    indexes: { metadata: metadataKeys },
  });
  readonly prices = this.#add<Wire.Price>({
    name: 'prices',
    noun: 'price',
    idPrefix: 'price_',
    indexes: {
      metadata: metadataKeys,
      lookup_key: (price) => [price.lookup_key],
      product: (price) => [price.product],
    },
  });
  readonly priceTiers = this.#add<Wire.PriceTiers>({
    name: 'price_tiers',
    noun: 'price tiers',
    idPrefix: 'price_',
  });
  readonly meters = this.#add<Wire.Meter>({ name: 'meters', noun: 'billing meter', idPrefix: 'mtr_' });
  readonly paymentMethods = this.#add<Wire.PaymentMethod>({
    name: 'payment_methods',
    noun: 'PaymentMethod',
    idPrefix: 'pm_',
    indexes: { customer: (method) => [method.customer] },
  });
  readonly spentPaymentMethods = this.#add<Wire.SpentPaymentMethod>({
    name: 'spent_payment_methods',
    noun: 'spent payment method',
    idPrefix: 'pm_',
  });
  readonly tokens = this.#add<Wire.Token>({ name: 'tokens', noun: 'token', idPrefix: 'tok_' });
  readonly confirmationTokens = this.#add<Wire.ConfirmationToken>({
    name: 'confirmation_tokens',
    noun: 'confirmation_token',
    idPrefix: 'ctoken_',
  });
  readonly paymentIntents = this.#add<Wire.PaymentIntent>({
    name: 'payment_intents',
    noun: 'payment_intent',
    idPrefix: 'pi_',
    indexes: {
      metadata: metadataKeys,
      customer: (intent) => [intent.customer],
      payment_method: (intent) => [intent.payment_method],
    },
  });
  readonly setupIntents = this.#add<Wire.SetupIntent>({
    name: 'setup_intents',
    noun: 'setupintent',
    idPrefix: 'seti_',
    indexes: {
      customer: (intent) => [intent.customer],
      payment_method: (intent) => [intent.payment_method],
    },
  });
  readonly setupAttempts = this.#add<Wire.SetupAttempt>({
    name: 'setup_attempts',
    noun: 'setup_attempt',
    idPrefix: 'setatt_',
    indexes: { setup_intent: (attempt) => [attempt.setup_intent] },
  });
  readonly taxRates = this.#add<Wire.TaxRate>({ name: 'tax_rates', noun: 'tax rate', idPrefix: 'txr_' });
  readonly taxIds = this.#add<Wire.TaxId>({
    name: 'tax_ids',
    noun: 'tax id',
    idPrefix: 'txi_',
    indexes: { customer: (taxId) => [taxId.customer] },
  });
  readonly charges = this.#add<Wire.Charge>({
    name: 'charges',
    noun: 'charge',
    idPrefix: 'ch_',
    indexes: {
      metadata: metadataKeys,
      customer: (charge) => [charge.customer],
      payment_intent: (charge) => [charge.payment_intent],
    },
  });
  readonly balanceTransactions = this.#add<Wire.BalanceTransaction>({
    name: 'balance_transactions',
    noun: 'balance transaction',
    idPrefix: 'txn_',
    indexes: { source: (transaction) => [transaction.source] },
  });
  readonly refunds = this.#add<Wire.Refund>({
    name: 'refunds',
    noun: 'refund',
    idPrefix: 're_',
    indexes: {
      payment_intent: (refund) => [refund.payment_intent],
      charge: (refund) => [refund.charge],
    },
  });
  readonly disputes = this.#add<Wire.Dispute>({
    name: 'disputes',
    noun: 'dispute',
    idPrefix: 'du_',
    indexes: {
      payment_intent: (dispute) => [dispute.payment_intent],
      charge: (dispute) => [dispute.charge],
    },
  });
  readonly subscriptions = this.#add<Wire.Subscription>({
    name: 'subscriptions',
    noun: 'subscription',
    idPrefix: 'sub_',
    indexes: {
      metadata: metadataKeys,
      customer: (subscription) => [subscription.customer],
      item: (subscription) => subscription.items.data.map(({ id }) => id),
      pending_setup_intent: (subscription) => [subscription.pending_setup_intent],
      test_clock: (subscription) => [subscription.test_clock],
    },
  });
  readonly invoices = this.#add<Wire.Invoice>({
    name: 'invoices',
    noun: 'invoice',
    idPrefix: 'in_',
    indexes: {
      metadata: metadataKeys,
      customer: (invoice) => [invoice.customer],
      subscription: (invoice) => [invoice.parent?.subscription_details.subscription ?? null],
    },
  });
  readonly invoiceItems = this.#add<Wire.InvoiceItem>({
    name: 'invoiceitems',
    noun: 'invoiceitem',
    idPrefix: 'ii_',
    indexes: {
      customer: (item) => [item.customer],
      invoice: (item) => [item.invoice],
      // By customer, until an invoice bills them.
      pending: (item) => [item.invoice === null ? item.customer : null],
    },
  });
  readonly invoicePayments = this.#add<Wire.InvoicePayment>({
    name: 'invoice_payments',
    noun: 'invoice_payment',
    idPrefix: 'inpay_',
    indexes: {
      invoice: (payment) => [payment.invoice],
      payment_intent: (payment) => [payment.payment.payment_intent],
    },
  });
  readonly subscriptionSchedules = this.#add<Wire.SubscriptionSchedule>({
    name: 'subscription_schedules',
    noun: 'subscription schedule',
    idPrefix: 'sub_sched_',
    indexes: { customer: (schedule) => [schedule.customer] },
  });
  readonly coupons = this.#add<Wire.Coupon>({
    name: 'coupons',
    noun: 'coupon',
    idPrefix: '',
    idLength: 8,
  });
  readonly deletedCoupons = this.#add<Wire.DeletedCoupon>({
    name: 'deleted_coupons',
    noun: 'deleted coupon',
    idPrefix: '',
  });
  readonly promotionCodes = this.#add<Wire.PromotionCode>({
    name: 'promotion_codes',
    noun: 'promotion code',
    idPrefix: 'promo_',
    indexes: {
      // Codes are unique regardless of case.
      code: (promotion) => [promotion.code.toLowerCase()],
      coupon: (promotion) => [promotion.promotion.coupon],
      customer: (promotion) => [promotion.customer],
    },
  });
  readonly discounts = this.#add<Wire.Discount>({
    name: 'discounts',
    noun: 'discount',
    idPrefix: 'di_',
    indexes: {
      coupon: (discount) => [discount.source.coupon],
      customer: (discount) => [discount.customer],
    },
  });
  readonly portalConfigurations = this.#add<Wire.PortalConfiguration>({
    name: 'portal_configurations',
    noun: 'configuration',
    idPrefix: 'bpc_',
  });
  readonly portalSessions = this.#add<Wire.PortalSession>({
    name: 'portal_sessions',
    noun: 'portal session',
    idPrefix: 'bps_',
  });
  readonly checkoutSessions = this.#add<Wire.CheckoutSession>({
    name: 'checkout_sessions',
    noun: 'checkout.session',
    idPrefix: 'cs_test_',
    idLength: 58,
    indexes: {
      customer: (session) => [session.customer],
      intent: (session) => [session.terms.intent],
      line: (session) => session.terms.lines.map(({ id }) => id),
      payment_intent: (session) => [session.payment_intent],
      subscription: (session) => [session.subscription],
    },
  });
  readonly testClocks = this.#add<Wire.TestClock>({
    name: 'test_clocks',
    noun: 'test clock',
    idPrefix: 'clock_',
  });
  readonly webhookEndpoints = this.#add<Wire.WebhookEndpoint>({
    name: 'webhook_endpoints',
    noun: 'webhook endpoint',
    idPrefix: 'we_',
  });

  /** The object with this id in the collection with this name. */
  find(collection: string, id: string): Wire.WireObject | undefined {
    return this.collection(collection)?.get(id);
  }

  /** The objects of all kinds under one index key, such as all objects of one customer. */
  allWithin(index: string, key: string): { readonly collection: AnyCollection; readonly id: string }[] {
    return [...this.#byName.values()].flatMap((collection) =>
      collection.hasIndex(index)
        ? collection.allWithin(index, key).map(({ id }) => ({ collection, id }))
        : [],
    );
  }

  collection(name: string): AnyCollection | undefined {
    return this.#byName.get(name);
  }

  protected get byName(): ReadonlyMap<string, AnyCollection> {
    return this.#byName;
  }

  #add<T extends Wire.WireObject>(kind: Kind<T>): Collection<T> {
    const collection = new Collection<T>(kind);
    // Each collection holds one kind of object. Code that handles all kinds alike looks collections up by name.
    this.#byName.set(kind.name, collection as unknown as AnyCollection);
    return collection;
  }
}

/** The index key for metadata. Search ignores the case of values. */
export function metadataKey(key: string, value: string): string {
  return `${key}=${value.toLowerCase()}`;
}

function metadataKeys(value: object): string[] {
  if (!('metadata' in value) || typeof value.metadata !== 'object' || value.metadata === null) return [];
  return Object.entries(value.metadata).map(([key, text]) => metadataKey(key, String(text)));
}
