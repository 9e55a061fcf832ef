import type * as Wire from '../wire/objects.ts';
import { Collection, type Kind } from './collection.ts';

export type AnyCollection = Collection<Wire.WireObject>;

/** Every kind of object, with the indexes that its lists are read from. */
export class Collections {
  readonly #byName = new Map<string, AnyCollection>();

  readonly customers: Collection<Wire.Customer | Wire.DeletedCustomer> = this.#add(
    'customers',
    'cus_',
    ['metadata', 'email', 'test_clock'],
    { idLength: 14 },
  );
  readonly products: Collection<Wire.Product> = this.#add('products', 'prod_', ['metadata'], {
    idLength: 14,
  });
  readonly prices = this.#add<Wire.Price>('prices', 'price_', ['metadata', 'lookup_key', 'product']);
  readonly priceTiers = this.#add<Wire.PriceTiers>('price_tiers', 'price_');
  readonly meters: Collection<Wire.Meter> = this.#add('meters', 'mtr_', [], { noun: 'billing meter' });
  readonly paymentMethods = this.#add<Wire.PaymentMethod>('payment_methods', 'pm_', ['customer'], {
    noun: 'PaymentMethod',
  });
  readonly spentPaymentMethods = this.#add<Wire.SpentPaymentMethod>('spent_payment_methods', 'pm_');
  readonly tokens = this.#add<Wire.Token>('tokens', 'tok_');
  readonly confirmationTokens = this.#add<Wire.ConfirmationToken>('confirmation_tokens', 'ctoken_');
  readonly paymentIntents = this.#add<Wire.PaymentIntent>('payment_intents', 'pi_', [
    'metadata',
    'customer',
    'payment_method',
  ]);
  readonly setupIntents = this.#add<Wire.SetupIntent>(
    'setup_intents',
    'seti_',
    ['customer', 'payment_method'],
    {
      noun: 'setupintent',
    },
  );
  readonly setupAttempts = this.#add<Wire.SetupAttempt>('setup_attempts', 'setatt_', ['setup_intent']);
  readonly taxRates: Collection<Wire.TaxRate> = this.#add('tax_rates', 'txr_', [], { noun: 'tax rate' });
  readonly taxIds = this.#add<Wire.TaxId>('tax_ids', 'txi_', ['customer'], { noun: 'tax id' });
  readonly charges = this.#add<Wire.Charge>('charges', 'ch_', ['metadata', 'customer', 'payment_intent']);
  readonly balanceTransactions = this.#add<Wire.BalanceTransaction>(
    'balance_transactions',
    'txn_',
    ['source'],
    {
      noun: 'balance transaction',
    },
  );
  readonly refunds = this.#add<Wire.Refund>('refunds', 're_', ['payment_intent', 'charge']);
  readonly disputes = this.#add<Wire.Dispute>('disputes', 'du_', ['payment_intent', 'charge']);
  readonly subscriptions = this.#add<Wire.Subscription>(
    'subscriptions',
    'sub_',
    ['metadata', 'customer', 'pending_setup_intent', 'test_clock'],
    { indexes: { item: (subscription) => subscription.items.data.map(({ id }) => id) } },
  );
  readonly invoices = this.#add<Wire.Invoice>('invoices', 'in_', ['metadata', 'customer'], {
    indexes: { subscription: (invoice) => [invoice.parent?.subscription_details.subscription ?? null] },
  });
  readonly invoiceItems = this.#add<Wire.InvoiceItem>('invoiceitems', 'ii_', ['customer', 'invoice'], {
    // By customer, until an invoice bills them.
    indexes: { pending: (item) => [item.invoice === null ? item.customer : null] },
  });
  readonly invoicePayments = this.#add<Wire.InvoicePayment>('invoice_payments', 'inpay_', ['invoice'], {
    indexes: { payment_intent: (payment) => [payment.payment.payment_intent] },
  });
  readonly subscriptionSchedules = this.#add<Wire.SubscriptionSchedule>(
    'subscription_schedules',
    'sub_sched_',
    ['customer'],
    { noun: 'subscription schedule' },
  );
  readonly coupons: Collection<Wire.Coupon> = this.#add('coupons', '', [], { idLength: 8 });
  readonly deletedCoupons = this.#add<Wire.DeletedCoupon>('deleted_coupons', '');
  readonly promotionCodes = this.#add<Wire.PromotionCode>('promotion_codes', 'promo_', ['customer'], {
    noun: 'promotion code',
    indexes: {
      // Codes are unique regardless of case.
      code: (promotion) => [promotion.code.toLowerCase()],
      coupon: (promotion) => [promotion.promotion.coupon],
    },
  });
  readonly discounts = this.#add<Wire.Discount>('discounts', 'di_', ['customer'], {
    indexes: { coupon: (discount) => [discount.source.coupon] },
  });
  readonly portalConfigurations = this.#add<Wire.PortalConfiguration>('portal_configurations', 'bpc_', [], {
    noun: 'configuration',
  });
  readonly portalSessions = this.#add<Wire.PortalSession>('portal_sessions', 'bps_');
  readonly checkoutSessions = this.#add<Wire.CheckoutSession>(
    'checkout_sessions',
    'cs_test_',
    ['customer', 'payment_intent', 'subscription'],
    {
      noun: 'checkout.session',
      idLength: 58,
      indexes: {
        intent: (session) => [session.terms.intent],
        line: (session) => session.terms.lines.map(({ id }) => id),
      },
    },
  );
  readonly testClocks: Collection<Wire.TestClock> = this.#add('test_clocks', 'clock_', [], {
    noun: 'test clock',
  });
  readonly webhookEndpoints = this.#add<Wire.WebhookEndpoint>('webhook_endpoints', 'we_', [], {
    noun: 'webhook endpoint',
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

  #add<T extends Wire.WireObject>(
    name: string,
    idPrefix: string,
    /** The fields that have an index of the same name. */
    fields: readonly FieldOf<T>[] = [],
    { indexes = {}, ...options }: Partial<Pick<Kind<T>, 'idLength' | 'indexes' | 'noun'>> = {},
  ): Collection<T> {
    const byField = Object.fromEntries(fields.map((field) => [field, keysIn(field)]));
    // In most errors, the noun is the name in the singular.
    const kind = { name, noun: name.replace(/s$/, ''), idPrefix, ...options };
    const collection = new Collection<T>({ ...kind, indexes: { ...byField, ...indexes } });
    // Each collection holds one kind of object. Code that handles all kinds alike looks collections up by name.
    this.#byName.set(name, collection as unknown as AnyCollection);
    return collection;
  }
}

type FieldOf<T> = T extends T ? keyof T & string : never;

function keysIn(field: string): (value: object) => string[] {
  if (field === 'metadata') return metadataKeys;
  return (value) => {
    const key: unknown = Object.hasOwn(value, field) ? Reflect.get(value, field) : null;
    return typeof key === 'string' ? [key] : [];
  };
}

/** The index key for metadata. Search ignores the case of values. */
export function metadataKey(key: string, value: string): string {
  return `${key}=${value.toLowerCase()}`;
}

function metadataKeys(value: object): string[] {
  if (!('metadata' in value) || typeof value.metadata !== 'object' || value.metadata === null) return [];
  return Object.entries(value.metadata).map(([key, text]) => metadataKey(key, String(text)));
}
