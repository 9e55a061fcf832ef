import { type DisputeFacts, takeDispute, type UnlinkedDisputeFacts } from '#core/model/dispute.ts';
import type { Applied, Source } from '#core/model/facts.ts';
import type { Payment } from '#core/model/payment.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import { applyToRows, lockRows } from '#engine/mirrors/apply-facts.ts';
import type { Mirror, MirrorContext } from '#engine/mirrors/mirror.ts';
import { ignoredAll, nothingApplied } from '#engine/mirrors/refresh.ts';
import { paymentView } from './payment-fields.ts';
import type { PaymentMirror } from './payment-mirror.ts';
import { PaymentStore } from './payment-store.ts';

/** A payment's row stores its newest dispute, so the key of a dispute is the key of the payment intent. */
export class DisputeMirror implements Mirror<DisputeFacts> {
  readonly resource = 'dispute';
  /** For events that do not name the payment intent. */
  readonly unlinked: Mirror<UnlinkedDisputeFacts>;
  readonly #context: MirrorContext;
  readonly #paymentStore = new PaymentStore();
  readonly #payments: PaymentMirror;

  constructor(context: MirrorContext, payments: PaymentMirror) {
    this.#context = context;
    this.#payments = payments;
    const keyOf = ({ processorDisputeId }: UnlinkedDisputeFacts) => processorDisputeId;
    this.unlinked = {
      resource: 'dispute',
      keyOf,
      apply: (_tx, facts) => Promise.resolve({ ...nothingApplied, unsettled: facts.map(keyOf) }),
      refresh: (key) => this.#refreshUnlinked(key),
    };
  }

  keyOf({ processorPaymentIntentId }: Pick<DisputeFacts, 'processorPaymentIntentId'>): string {
    return processorPaymentIntentId;
  }

  async apply(tx: Transaction, facts: readonly DisputeFacts[], source: Source): Promise<Applied> {
    const { clock } = this.#context;
    const { keyOf } = this;
    const rows = await lockRows<Payment, DisputeFacts>(tx, this.#paymentStore, facts, keyOf);
    // A dispute does not carry Till's id, so only a read shows whether a payment without a row belongs to Till. A
    // resync has already recovered every payment that does.
    const lost = source === 'events' ? rows.unknown.map(keyOf) : [];
    const inserted = lost.length === 0 ? undefined : { created: [], lost };
    const folding = {
      rows,
      inserted,
      source,
      keyOf,
      take: takeDispute<Payment>,
      view: paymentView,
      now: clock.now(),
    };
    const { applied, written } = await applyToRows(tx, this.#paymentStore, folding);
    this.#payments.countDisputed(tx, written);
    return applied;
  }

  refresh(key: string): Promise<Applied> {
    return this.#payments.refresh(key, { isDisputed: true });
  }

  /** The number of payments that were disputed. */
  count(): Promise<number> {
    const { database } = this.#context;
    return this.#paymentStore.countDisputed(database);
  }

  async #refreshUnlinked(key: string): Promise<Applied> {
    const facts = await this.#context.processor.disputes.read(key);
    if (facts === null) return ignoredAll(key);
    const applied = await this.refresh(this.keyOf(facts));
    return applied.ignored.includes(this.keyOf(facts)) ? ignoredAll(key) : applied;
  }
}
