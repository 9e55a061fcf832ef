import type { Source } from '#core/model/facts.ts';
import { isAttempted, type PaymentFacts } from '#core/model/payment.ts';
import type { MirrorContext } from '#engine/mirrors/mirror.ts';
import type { InvoiceMirror } from '../invoices/invoice-mirror.ts';
import type { SubscriptionMirror } from '../subscriptions/subscription-mirror.ts';

/** The invoice of a Till subscription that a payment intent pays. */
export interface SubscriptionCharge {
  readonly processorInvoiceId: string;
  readonly processorSubscriptionId: string;
  readonly customerId: string;
}

/** A payment intent, and the invoice that it pays. */
export interface ChargedPayment {
  readonly facts: PaymentFacts;
  readonly charge: SubscriptionCharge;
}

export type ChargeOf = (facts: PaymentFacts) => SubscriptionCharge | undefined;

/** Finds out whether a payment intent that Till did not create is the charge of a Till subscription. */
export class SubscriptionCharges {
  readonly #context: MirrorContext;
  readonly #invoices: InvoiceMirror;
  readonly #subscriptions: SubscriptionMirror;

  constructor(context: MirrorContext, invoices: InvoiceMirror, subscriptions: SubscriptionMirror) {
    this.#context = context;
    this.#invoices = invoices;
    this.#subscriptions = subscriptions;
  }

  /** For a payment intent whose invoice is unknown. */
  async findByPayment(processorPaymentIntentId: string): Promise<SubscriptionCharge | undefined> {
    const invoiceId = await this.#context.processor.invoices.findOfPayment(processorPaymentIntentId);
    return invoiceId === null ? undefined : this.findByInvoice(invoiceId);
  }

  /**
   * Usually both rows exist, and nothing is read. A missing row may still arrive, or was lost, so it is refreshed. An
   * invoice whose customer has no row belongs to another application.
   */
  async findByInvoice(processorInvoiceId: string): Promise<SubscriptionCharge | undefined> {
    const invoice = await this.#invoices.findOrRefresh(processorInvoiceId);
    if (invoice === undefined || invoice.customerId === null) return undefined;
    const { processorSubscriptionId } = invoice;
    if (processorSubscriptionId === null) return undefined;
    const subscription = await this.#subscriptions.findOrRefresh(processorSubscriptionId);
    return (
      subscription && { customerId: subscription.customerId, processorInvoiceId, processorSubscriptionId }
    );
  }
}

/**
 * Whether a payment intent that Till did not create may be the charge of a subscription. The event of its success needs
 * no read, because another event reports the payment of the invoice.
 */
export function mayBeCharge(facts: PaymentFacts, source: Source): boolean {
  const { processorInvoiceId, processorCustomerId, status } = facts;
  if (processorInvoiceId === null || processorCustomerId === null || !isAttempted(facts)) return false;
  return processorInvoiceId !== undefined || source !== 'events' || status !== 'succeeded';
}
