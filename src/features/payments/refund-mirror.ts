import { type Applied, rowTime, type Source } from '#core/model/facts.ts';
import { isOpen, type Payment } from '#core/model/payment.ts';
import {
  kindOf,
  type Refund,
  type RefundedPaymentFacts,
  type RefundFacts,
  type RefundKind,
  takeRefundFacts,
} from '#core/model/refund.ts';
import { derivedId, idTime, isOurId } from '#core/platform/id.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { applyToRows, lockRows, type RowStore, withRecovery } from '#engine/mirrors/apply-facts.ts';
import type { Mirror, MirrorContext } from '#engine/mirrors/mirror.ts';
import { ignoredAll, nothingApplied, untilSettled } from '#engine/mirrors/refresh.ts';
import type { PaymentMirror } from './payment-mirror.ts';
import { PaymentStore } from './payment-store.ts';
import { refundView } from './refund-fields.ts';
import { RefundStore } from './refund-store.ts';

export class RefundMirror implements Mirror<RefundFacts> {
  readonly resource = 'refund';
  /** For events that say that a payment was refunded, but do not contain the refund. */
  readonly ofPayments: Mirror<RefundedPaymentFacts>;
  readonly #context: MirrorContext;
  readonly #store = new RefundStore();
  readonly #paymentStore = new PaymentStore();
  readonly #payments: PaymentMirror;

  constructor(context: MirrorContext, payments: PaymentMirror) {
    this.#context = context;
    this.#payments = payments;
    this.ofPayments = {
      resource: 'refund',
      keyOf: intentIdOf,
      apply: (_tx, facts) => Promise.resolve({ ...nothingApplied, unsettled: facts.map(intentIdOf) }),
      refresh: (key) => this.#refreshOfPayment(key),
    };
  }

  keyOf({ processorRefundId }: RefundFacts): string {
    return processorRefundId;
  }

  /** Also applies refunds that were created elsewhere. Locks the payment before it writes a refund. */
  apply(tx: Transaction, facts: readonly RefundFacts[], source: Source): Promise<Applied> {
    return this.#apply(tx, facts, source);
  }

  /** `all`: all refunds of the payment, newest first. Without them, a refund that may be a release is unsettled. */
  async #apply(
    tx: Transaction,
    facts: readonly RefundFacts[],
    source: Source,
    all?: readonly RefundFacts[],
  ): Promise<Applied> {
    const { clock } = this.#context;
    const intentIds = new Set(
      facts.flatMap(({ processorPaymentIntentId }) => processorPaymentIntentId ?? []),
    );
    const payments = await this.#paymentStore.lockByKeys(tx, [...intentIds]);
    const byIntent = new Map(payments.map((payment) => [payment.processorPaymentIntentId, payment]));
    const known = facts.flatMap((one) => {
      const payment = byIntent.get(one.processorPaymentIntentId ?? '');
      return payment === undefined ? [] : [{ ...one, payment }];
    });
    const reserved = keysOfReserved(known);
    // A reservation does not carry the processor's id yet.
    const keyOf = (item: Refund | KnownRefund) =>
      'id' in item ? (item.processorRefundId ?? reserved.get(item.id) ?? item.id) : item.processorRefundId;
    const rowStore = this.#rowStore(reserved);
    const now = clock.now();
    const rows = await lockRows(tx, rowStore, known, keyOf);
    const foreign = all?.filter((one) => !isRequestedHere(one));
    const kinded = rows.unknown.map((first) => ({
      first,
      kind: kindOf(first, { payment: first.payment, isOwn: isRequestedHere(first), foreign }),
    }));
    const created = kinded.flatMap(({ first, kind }) =>
      kind === undefined ? [] : [toRefund(first, kind, now)],
    );
    const unclear = kinded.flatMap(({ first, kind }) => (kind === undefined ? [this.keyOf(first)] : []));
    const inserted =
      created.length === 0 ? undefined : { created: await this.#store.insert(tx, created), lost: [] };
    const folding = { rows, inserted, source, keyOf, take: takeRefundFacts, view: refundView, now };
    const { applied } = await applyToRows(tx, rowStore, folding);
    await this.#paymentStore.addUpRefunds(tx, payments, now);
    const knownKeys = new Set(known.map(this.keyOf));
    const others = facts.filter((one) => !knownKeys.has(this.keyOf(one)));
    return withRecovery(
      { ...applied, ignored: [...applied.ignored, ...others.map(this.keyOf)] },
      // A refund does not carry the payment's Till id, so only a read shows whether a payment without a row belongs to
      // Till. A resync has already recovered every payment that does.
      { lost: [...unclear, ...others.filter((one) => isUnknownPayment(one, source)).map(this.keyOf)] },
    );
  }

  /** Refreshes the refund together with the other refunds of its payment. */
  async refresh(key: string): Promise<Applied> {
    const { database, processor } = this.#context;
    const intentId =
      (await this.#store.findPaymentIntentId(database, key)) ??
      (await processor.refunds.read(key))?.processorPaymentIntentId ??
      null;
    const applied = intentId === null ? ignoredAll(key) : await this.#refreshOfPayment(intentId);
    return intentId !== null && applied.ignored.includes(intentId) ? ignoredAll(key) : applied;
  }

  findByKeys(db: Queryable, keys: readonly string[]): Promise<readonly Refund[]> {
    return this.#store.findByKeys(db, keys);
  }

  /** Also locks the reservations, which do not have the processor's ids yet. */
  #rowStore(reserved: ReadonlyMap<string, string>): RowStore<Refund> {
    return {
      lockByKeys: (tx, keys) => this.#store.lockAny(tx, keys, [...reserved.keys()]),
      update: (tx, changes) => this.#store.update(tx, changes),
    };
  }

  async #refreshOfPayment(intentId: string): Promise<Applied> {
    const { database, processor } = this.#context;
    const payment = await this.#payments.findOrRefresh(intentId);
    if (payment === undefined) return ignoredAll(intentId);
    const rows = await this.#store.findOfPayment(database, payment.id);
    const revisions = new Map(
      rows.flatMap(({ processorRefundId, revision }) =>
        processorRefundId === null ? [] : [[processorRefundId, revision]],
      ),
    );
    const facts = await processor.refunds.listOfPayment(intentId);
    // The row missed how the payment ended. Until the row shows it, refunds do not count, and may be releases.
    const isCurrent =
      facts.length === 0 || !isOpen(payment) || (await untilSettled(() => this.#payments.refresh(intentId)));
    return database.transaction((tx) => this.#apply(tx, facts, revisions, isCurrent ? facts : undefined));
  }
}

/** A refund whose payment has a row. */
interface KnownRefund extends RefundFacts {
  readonly payment: Payment;
}

/** Whether Till requested the refund. An import gives each refund an id that is derived from the processor's. */
function isRequestedHere({ localId, processorRefundId, createdAt }: RefundFacts): boolean {
  return isOurId(localId) && localId !== derivedId('refund', processorRefundId, createdAt);
}

function isUnknownPayment({ localId, processorPaymentIntentId }: RefundFacts, source: Source): boolean {
  return isOurId(localId) || (source === 'events' && processorPaymentIntentId !== null);
}

function intentIdOf({ processorPaymentIntentId }: RefundedPaymentFacts): string {
  return processorPaymentIntentId;
}

/** The keys of refunds that Till created, by their Till ids. */
function keysOfReserved(refunds: readonly KnownRefund[]): ReadonlyMap<string, string> {
  return new Map(
    refunds.flatMap(({ localId, processorRefundId }) =>
      isOurId(localId) ? [[localId, processorRefundId] as const] : [],
    ),
  );
}

function toRefund(facts: KnownRefund, kind: RefundKind, now: Date): Refund {
  const { localId, processorRefundId, createdAt, payment } = facts;
  return {
    id: isOurId(localId) ? localId : derivedId('refund', processorRefundId, createdAt),
    processorRefundId,
    paymentId: payment.id,
    customerId: payment.customerId,
    amount: facts.amount,
    currency: facts.currency,
    status: facts.status === 'unknown' ? 'pending' : facts.status,
    reason: facts.reason,
    kind,
    ...rowTime(facts.asOf),
    createdAt: isOurId(localId) ? idTime(localId) : createdAt,
    updatedAt: now,
    revision: 0,
  };
}
