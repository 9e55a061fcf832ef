import type * as Wire from '../wire/objects.ts';
import { Collection } from './collection.ts';

export type AnyCollection = Collection<Wire.WireObject>;

/** Every kind of object, with the indexes that its lists are read from. */
export class Collections {
  readonly customers = new Collection<Wire.Customer | Wire.DeletedCustomer>('customers', {
    metadata: metadataKeys,
    email: (customer) => ['email' in customer ? customer.email : null],
  });
  readonly products = new Collection<Wire.Product>('products', { metadata: metadataKeys });
  readonly prices = new Collection<Wire.Price>('prices', {
    metadata: metadataKeys,
    product: (p) => [p.product],
  });
  readonly paymentMethods = new Collection<Wire.PaymentMethod>('payment_methods', {
    customer: (method) => [method.customer],
  });
  readonly paymentIntents = new Collection<Wire.PaymentIntent>('payment_intents', {
    metadata: metadataKeys,
    customer: (intent) => [intent.customer],
  });
  readonly setupIntents = new Collection<Wire.SetupIntent>('setup_intents', {
    customer: (s) => [s.customer],
  });
  readonly charges = new Collection<Wire.Charge>('charges', {
    metadata: metadataKeys,
    customer: (charge) => [charge.customer],
    payment_intent: (charge) => [charge.payment_intent],
  });
  readonly refunds = new Collection<Wire.Refund>('refunds', {
    payment_intent: (refund) => [refund.payment_intent],
    charge: (refund) => [refund.charge],
  });
  readonly subscriptions = new Collection<Wire.Subscription>('subscriptions', {
    metadata: metadataKeys,
    customer: (subscription) => [subscription.customer],
    pending_setup_intent: (subscription) => [subscription.pending_setup_intent],
  });
  readonly invoices = new Collection<Wire.Invoice>('invoices', {
    metadata: metadataKeys,
    customer: (invoice) => [invoice.customer],
    subscription: (invoice) => [invoice.parent.subscription_details.subscription],
  });
  readonly invoicePayments = new Collection<Wire.InvoicePayment>('invoice_payments', {
    invoice: (payment) => [payment.invoice],
    payment_intent: (payment) => [payment.payment.payment_intent],
  });
  readonly webhookEndpoints = new Collection<Wire.WebhookEndpoint>('webhook_endpoints');

  byName(): ReadonlyMap<string, AnyCollection> {
    const all = [
      this.customers,
      this.products,
      this.prices,
      this.paymentMethods,
      this.paymentIntents,
      this.setupIntents,
      this.charges,
      this.refunds,
      this.subscriptions,
      this.invoices,
      this.invoicePayments,
      this.webhookEndpoints,
    ];
    // Each collection holds one kind of object; here they are only told apart by name.
    return new Map(all.map((collection) => [collection.name, collection as unknown as AnyCollection]));
  }
}

/** The key of the metadata index. */
export function metadataKey(key: string, value: string): string {
  return `${key}=${value}`;
}

function metadataKeys(value: object): string[] {
  if (!('metadata' in value) || typeof value.metadata !== 'object' || value.metadata === null) return [];
  return Object.entries(value.metadata).map(([key, text]) => metadataKey(key, String(text)));
}
