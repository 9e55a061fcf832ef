import type { Applied } from '#core/model/facts.ts';
import type { InvoicePaymentFacts } from '#core/model/payment.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import type { Mirror, MirrorContext } from '#engine/mirrors/mirror.ts';
import { ignoredAll, nothingApplied } from '#engine/mirrors/refresh.ts';
import type { PaymentMirror } from './payment-mirror.ts';
import { PaymentStore } from './payment-store.ts';
import type { SubscriptionCharges } from './subscription-charges.ts';

/** For events that say that an invoice was paid. Their keys contain the ids of both objects. */
export class InvoicePaymentMirror implements Mirror<InvoicePaymentFacts> {
  readonly resource = 'payment';
  readonly #context: MirrorContext;
  readonly #paymentStore = new PaymentStore();
  readonly #payments: PaymentMirror;
  readonly #subscriptionCharges: SubscriptionCharges;

  constructor(context: MirrorContext, payments: PaymentMirror, subscriptionCharges: SubscriptionCharges) {
    this.#context = context;
    this.#payments = payments;
    this.#subscriptionCharges = subscriptionCharges;
  }

  /** The processor's ids contain no spaces. */
  keyOf({ processorInvoiceId, processorPaymentIntentId }: InvoicePaymentFacts): string {
    return `${processorInvoiceId} ${processorPaymentIntentId}`;
  }

  /** Needs a refresh only if Till has missed the payment, or its success. */
  async apply(tx: Transaction, facts: readonly InvoicePaymentFacts[]): Promise<Applied> {
    const rows = await this.#paymentStore.findByKeys(tx, facts.map(this.#payments.keyOf));
    const succeeded = new Set(
      rows.filter(({ intentStatus }) => intentStatus === 'succeeded').map(this.#payments.keyOf),
    );
    const missed = facts.filter((one) => !succeeded.has(this.#payments.keyOf(one)));
    return { ...nothingApplied, unsettled: missed.map(this.keyOf) };
  }

  async refresh(invoicePayment: string): Promise<Applied> {
    const { database, processor } = this.#context;
    const [invoiceKey = '', key = ''] = invoicePayment.split(' ');
    const [row] = await this.#paymentStore.findByKeys(database, [key]);
    if (row !== undefined) return this.#payments.refresh(key);
    const charge = await this.#subscriptionCharges.findByInvoice(invoiceKey);
    const current = charge && (await processor.payments.read(key));
    return current ? this.#payments.recordMissing(current.payment, charge) : ignoredAll(invoicePayment);
  }
}
