import { Failure } from '../errors.ts';
import type { Adoption } from '../idempotency/adoption.ts';
import type { Created } from '../idempotency/creation.ts';
import type { IdempotencyService } from '../idempotency/idempotency-service.ts';
import {
  type Applied,
  foldFacts,
  groupFacts,
  type Source,
  withoutRow,
  withRecovery,
} from '../mirrors/fold.ts';
import type { Page, PageRequest } from '../mirrors/list-page.ts';
import { ignoredAll, nothingApplied, untilSettled } from '../mirrors/refresh.ts';
import type { Clock } from '../platform/clock.ts';
import { idTime, isOurId } from '../platform/id.ts';
import type { Database, Queryable, Transaction } from '../platform/postgres.ts';
import type { Processor } from '../processor/processor.ts';
import { notRefunded } from '../processor/refused-write.ts';
import { formatAmount } from './format-amount.ts';
import { recoverPaymentOf } from './lost-refunds.ts';
import { reservedIds, toRefund } from './new-refund.ts';
import { amountLeft, type Payment } from './payment.ts';
import type { PaymentService } from './payment-service.ts';
import type { PaymentStore } from './payment-store.ts';
import { type Refund, type RefundFacts, type RefundReason, takeRefundFacts } from './refund.ts';
import type { RefundStore } from './refund-store.ts';

export interface NewRefundRequest {
  readonly paymentId: string;
  /** Undefined: all that is left. */
  readonly amount: number | undefined;
  readonly reason: RefundReason | null;
}

export interface RefundedPayment {
  readonly payment: Payment;
  readonly refund: Refund;
}

interface RefundParts {
  readonly database: Database;
  readonly payments: PaymentService;
  readonly paymentStore: PaymentStore;
  readonly store: RefundStore;
  readonly processor: Processor;
  readonly idempotency: IdempotencyService;
  readonly clock: Clock;
}

export class RefundService {
  readonly #parts: RefundParts;

  constructor(parts: RefundParts) {
    this.#parts = parts;
  }

  /**
   * Reserves the amount under the payment's lock, then asks the processor: of any number of refunds at once, only as
   * many go through as there is money for.
   */
  async create(request: NewRefundRequest, key: string | undefined): Promise<Created<RefundedPayment>> {
    try {
      return await this.#create(request, key);
    } catch (error) {
      const isBehind = error instanceof Failure && error.code === 'refund_exceeds_remaining';
      if (!isBehind || request.amount !== undefined) throw error;
      // Asked for all that is left, and less was left than our mirror knew. By now it has been corrected.
      return this.#create(request, key);
    }
  }

  async #create(request: NewRefundRequest, key: string | undefined): Promise<Created<RefundedPayment>> {
    const { payments, idempotency } = this.#parts;
    const { paymentId, reason } = request;
    const payment = await payments.read(paymentId);
    // Paid, and the news has not arrived: ours is corrected first.
    if (payment.intentStatus !== 'succeeded') await payments.correct(payment);
    let amount = 0;
    return idempotency.create<RefundFacts, RefundedPayment>({
      operation: 'refunds.create',
      key,
      request: { ...request, amount: request.amount ?? null },
      parentId: paymentId,
      reserve: async (tx, id) => {
        ({ amount } = await this.#reserve(tx, id, request));
      },
      call: (id, idempotencyKey) => this.#refund(payment, { id, amount, reason, idempotencyKey }),
      ...this.adoption(paymentId),
      replay: (id) => this.#read(this.#parts.database, id),
    });
  }

  adoption(paymentId: string): Adoption<RefundFacts, RefundedPayment> {
    const { payments, paymentStore, store, processor, clock } = this.#parts;
    return {
      find: async (localId) => {
        const { processorPaymentIntentId } = await payments.read(paymentId);
        return processor.refunds.find({ localId, processorPaymentIntentId });
      },
      record: async (tx, id, facts) => {
        await this.apply(tx, [facts], 'events');
        return this.#read(tx, id);
      },
      release: async (tx, id) => {
        await paymentStore.lock(tx, paymentId);
        await store.removeReservation(tx, id);
        await paymentStore.addUpRefunds(tx, [paymentId], clock.now());
      },
    };
  }

  async list(paymentId: string, request: PageRequest): Promise<Page<Refund>> {
    const { payments, store, database } = this.#parts;
    await payments.read(paymentId);
    return store.list(database, paymentId, request);
  }

  count(): Promise<number> {
    return this.#parts.store.count(this.#parts.database);
  }

  /** Takes in what the processor says of refunds, wherever they were made. */
  async apply(tx: Transaction, facts: readonly RefundFacts[], source: Source): Promise<Applied> {
    const { paymentStore, store, clock } = this.#parts;
    const intents = facts.flatMap(({ processorPaymentIntentId }) => processorPaymentIntentId ?? []);
    const payments = await paymentStore.lockByProcessorIds(tx, [...new Set(intents)]);
    const paymentOf = new Map(payments.map((payment) => [payment.processorPaymentIntentId, payment]));
    const ours = facts.filter(({ processorPaymentIntentId }) =>
      paymentOf.has(processorPaymentIntentId ?? ''),
    );
    const groups = groupFacts(ours, ({ processorRefundId }) => processorRefundId);
    const now = clock.now();

    const reserved = reservedIds(groups);
    const keyOf = ({ id, processorRefundId }: Refund) => processorRefundId ?? reserved.get(id) ?? '';
    const known = await store.lockAny(tx, [...groups.keys()], [...reserved.keys()]);
    const made = withoutRow(groups, known, keyOf).flatMap((facts) => {
      const payment = paymentOf.get(facts.processorPaymentIntentId ?? '');
      return payment === undefined ? [] : [toRefund(facts, payment.id, now)];
    });
    await store.insert(tx, made);
    const { written, applied } = foldFacts({
      rows: [...known, ...made],
      groups,
      source,
      keyOf,
      take: (refund, next: RefundFacts, origin) => takeRefundFacts(refund, next, origin, now),
    });
    store.update(
      tx,
      written.map(({ after }) => after),
    );
    await paymentStore.addUpRefunds(
      tx,
      payments.map(({ id }) => id),
      now,
    );
    const others = facts.filter((fact) => !ours.includes(fact));
    const idsOf = (refunds: readonly RefundFacts[]) =>
      refunds.map(({ processorRefundId }) => processorRefundId);
    return withRecovery(
      { ...applied, ignored: [...applied.ignored, ...idsOf(others)] },
      {
        made: made.map(keyOf),
        // One that we made belongs to a payment that Till made, whose row was lost.
        lost: idsOf(others.filter(({ localId }) => isOurId(localId))),
      },
    );
  }

  /** Those of the payment intents that are payments of ours. */
  async findOurPayments(db: Queryable, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const payments = await this.#parts.paymentStore.findByProcessorIds(db, ids);
    return new Set(payments.map(({ processorPaymentIntentId }) => processorPaymentIntentId));
  }

  /** Reads the processor's present state of a refund into ours, together with its payment's other refunds. */
  async refresh(processorRefundId: string): Promise<Applied> {
    const { database, store } = this.#parts;
    const processorPaymentIntentId =
      (await store.findPaymentIntentId(database, processorRefundId)) ??
      (await recoverPaymentOf(processorRefundId, this.#parts));
    return processorPaymentIntentId === undefined
      ? ignoredAll(processorRefundId)
      : this.refreshOfPayment(processorPaymentIntentId);
  }

  /** Reads all refunds of a payment from the processor into ours. */
  async refreshOfPayment(processorPaymentIntentId: string): Promise<Applied> {
    const { database, paymentStore, store, processor } = this.#parts;
    const [payment] = await paymentStore.findByProcessorIds(database, [processorPaymentIntentId]);
    if (payment === undefined) return nothingApplied;
    const rows = await store.findOfPayment(database, payment.id);
    const revisions = new Map(
      rows.map(({ processorRefundId, revision }) => [processorRefundId ?? '', revision]),
    );
    const facts = await processor.refunds.listOfPayment(processorPaymentIntentId);
    return database.transaction((tx) => this.apply(tx, facts, revisions));
  }

  async #reserve(tx: Transaction, id: string, request: NewRefundRequest): Promise<Refund> {
    const { paymentStore, store, clock } = this.#parts;
    const payment = await paymentStore.lock(tx, request.paymentId);
    const reserved = await store.find(tx, id);
    if (reserved !== undefined) return reserved;
    if (payment === undefined) throw new Failure('not_found', 'No payment has this id. Check the id.');
    const amount = request.amount ?? amountLeft(payment);
    refuseIfTooMuch(payment, amount);
    const now = clock.now();
    const refund: Refund = {
      id,
      processorRefundId: null,
      paymentId: payment.id,
      amount,
      currency: payment.currency,
      status: 'pending',
      reason: request.reason,
      processorAsOf: payment.processorAsOf,
      processorAsOfLatest: payment.processorAsOfLatest,
      createdAt: idTime(id),
      updatedAt: now,
      revision: 0,
    };
    await store.insert(tx, [refund]);
    await paymentStore.addUpRefunds(tx, [payment.id], now);
    return refund;
  }

  async #refund(
    payment: Payment,
    order: {
      readonly id: string;
      readonly amount: number;
      readonly reason: RefundReason | null;
      readonly idempotencyKey: string;
    },
  ): Promise<RefundFacts> {
    const { processor, payments } = this.#parts;
    const { processorPaymentIntentId } = payment;
    const attempt = await processor.refunds.create({ ...order, processorPaymentIntentId });
    if (attempt.outcome === 'done') return attempt.value;
    // First of all, because a payment that is unknown there fails here, and nothing is concluded from its refunds.
    const corrected = await payments.correct(payment);
    // Refused because an earlier try, whose answer was lost, has done it.
    const ours = await processor.refunds.find({ localId: order.id, processorPaymentIntentId });
    if (ours !== null) return ours;
    // Refunded elsewhere, or not paid after all: ours is corrected, and then the answer tells the truth.
    await untilSettled(() => this.refreshOfPayment(processorPaymentIntentId));
    const { amountRefunded, amountReserved } = await payments.read(payment.id);
    const others = { amountRefunded, amountReserved: amountReserved - order.amount };
    refuseIfTooMuch({ ...corrected, ...others }, order.amount);
    throw notRefunded(attempt);
  }

  async #read(db: Queryable, id: string): Promise<RefundedPayment> {
    const { store, paymentStore } = this.#parts;
    const refund = await store.find(db, id);
    const [payment] = refund === undefined ? [] : await paymentStore.find(db, [refund.paymentId]);
    if (refund === undefined || payment === undefined)
      throw new Failure('not_found', 'No refund has this id. Check the id.');
    return { payment, refund };
  }
}

function refuseIfTooMuch(payment: Payment, amount: number): void {
  if (payment.intentStatus !== 'succeeded') {
    throw new Failure(
      'payment_not_refundable',
      `The payment is ${payment.intentStatus}. You can only refund a payment that has succeeded.`,
    );
  }
  const left = amountLeft(payment);
  const isUnderWay = payment.amountReserved > 0 && (left === 0 || amount > left);
  if (isUnderWay) {
    throw new Failure(
      'refund_in_flight',
      `A refund of ${formatAmount(payment.amountReserved, payment.currency)} is still pending. ` +
        'Retry later, or repeat this request with the same idempotency key.',
      { retryAfterSeconds: 60 },
    );
  }
  if (left === 0)
    throw new Failure(
      'payment_not_refundable',
      'The payment is already refunded in full. List its refunds to see them.',
    );
  if (amount > left) {
    throw new Failure(
      'refund_exceeds_remaining',
      `Only ${formatAmount(left, payment.currency)} of the payment remains. Send an amount of at most ${left}.`,
    );
  }
}
