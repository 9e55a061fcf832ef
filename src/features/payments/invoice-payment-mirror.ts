import type { Applied } from '#core/model/facts.ts';
import type { InvoicePaymentFacts } from '#core/model/payment.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import type { Mirror, MirrorParts } from '#engine/mirrors/mirror.ts';
import { ignoredAll, nothingApplied } from '#engine/mirrors/refresh.ts';
import type { PaymentMirror } from './payment-mirror.ts';
import type { PaymentStore } from './payment-store.ts';
import type { SubscriptionCharges } from './subscription-charges.ts';

interface InvoicePaymentMirrorParts extends MirrorParts {
  readonly paymentStore: PaymentStore;
  readonly payments: PaymentMirror;
  readonly subscriptionCharges: SubscriptionCharges;
}

/** For events that say that an invoice was paid. Their keys contain the ids of both objects. */
export class InvoicePaymentMirror implements Mirror<InvoicePaymentFacts> {
  readonly resource = 'payment';
  readonly #parts: InvoicePaymentMirrorParts;

  constructor(parts: InvoicePaymentMirrorParts) {
    this.#parts = parts;
  }

  /** The processor's ids contain no spaces. */
  keyOf({ processorInvoiceId, processorPaymentIntentId }: InvoicePaymentFacts): string {
    return `${processorInvoiceId} ${processorPaymentIntentId}`;
  }

  /** Needs a refresh only if Till has missed the payment, or its success. */
  async apply(tx: Transaction, facts: readonly InvoicePaymentFacts[]): Promise<Applied> {
    const { paymentStore, payments } = this.#parts;
    const rows = await paymentStore.findByKeys(tx, facts.map(payments.keyOf));
    const succeeded = new Set(
      rows.filter(({ intentStatus }) => intentStatus === 'succeeded').map(payments.keyOf),
    );
    const missed = facts.filter((one) => !succeeded.has(payments.keyOf(one)));
    return { ...nothingApplied, unsettled: missed.map(this.keyOf) };
  }

  async refresh(invoicePayment: string): Promise<Applied> {
    const { database, paymentStore, payments, processor, subscriptionCharges } = this.#parts;
    const [invoiceKey = '', key = ''] = invoicePayment.split(' ');
    const [row] = await paymentStore.findByKeys(database, [key]);
    if (row !== undefined) return payments.refresh(key);
    const charge = await subscriptionCharges.findByInvoice(invoiceKey);
    const current = charge && (await processor.payments.read(key));
    return current ? payments.recordMissing(current.payment, charge) : ignoredAll(invoicePayment);
  }
}
