import { randomUUID } from 'node:crypto';
import type { CustomerService } from '../customers/customer-service.ts';
import type { LostCustomers } from '../customers/lost-customers.ts';
import { Failure } from '../errors.ts';
import type { Adoption } from '../idempotency/adoption.ts';
import type { Created } from '../idempotency/creation.ts';
import type { IdempotencyService } from '../idempotency/idempotency-service.ts';
import {
  type Applied,
  foldFacts,
  groupFacts,
  type Revisions,
  type Source,
  withoutRow,
  withRecovery,
} from '../mirrors/fold.ts';
import type { Page, PageRequest } from '../mirrors/list-page.ts';
import { ignoredAll, noRevisions, unknownThere, untilKnown } from '../mirrors/refresh.ts';
import type { Clock } from '../platform/clock.ts';
import { isOurId, isUuid } from '../platform/id.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Database, Transaction } from '../platform/postgres.ts';
import { SharedReads, SharedStatement } from '../platform/shared-statement.ts';
import type { PaymentWithSecret, Processor } from '../processor/processor.ts';
import { notReached, objectMissing } from '../processor/refused-write.ts';
import { toPayment } from './new-payment.ts';
import { type Payment, type PaymentFacts, takePaymentFacts } from './payment.ts';
import type { PaymentStore } from './payment-store.ts';

export interface NewPaymentRequest {
  readonly customerId: string;
  readonly amount: number;
  readonly currency: string;
}

export interface CreatedPayment {
  readonly payment: Payment;
  /** Handed on to the caller and kept nowhere. */
  readonly clientSecret: string | null;
}

export interface AppliedPayments extends Applied {
  /** How many payments have succeeded by this. */
  readonly succeeded: number;
  /** Those whose row was made long after the payment itself: events about their refunds may have met no row before. */
  readonly late: readonly string[];
}

/** A row follows its payment within a second, unless a process died in between or a backup was restored. */
const lateAfterMs = 60_000;

/** The processor cancels no payment in these states. */
const uncancelable: readonly Payment['intentStatus'][] = ['succeeded', 'processing'];

interface PaymentParts {
  readonly database: Database;
  readonly store: PaymentStore;
  readonly customers: CustomerService;
  readonly lostCustomers: LostCustomers;
  readonly processor: Processor;
  readonly idempotency: IdempotencyService;
  readonly metrics: Pick<Metrics, 'paymentsSucceeded'>;
  readonly clock: Clock;
}

export class PaymentService {
  readonly #parts: PaymentParts;
  readonly #reads: SharedReads<Payment>;
  /** The rows of concurrent requests; undefined for one that is there already. */
  readonly #inserting: SharedStatement<Payment, Payment | undefined>;

  constructor(parts: PaymentParts) {
    this.#parts = parts;
    this.#reads = new SharedReads((ids) => parts.store.find(parts.database, ids));
    this.#inserting = new SharedStatement({
      run: async (payments) => {
        const made = new Map(
          (await parts.store.insert(parts.database, payments)).map((row) => [row.id, row]),
        );
        return payments.map(({ id }) => made.get(id));
      },
      // The processor has done its work. As many as calls may be under way.
      waitingMax: Number.POSITIVE_INFINITY,
    });
  }

  create(request: NewPaymentRequest, key: string | undefined): Promise<Created<CreatedPayment>> {
    const { customers, processor, idempotency, clock } = this.#parts;
    const { customerId, amount, currency } = request;
    let processorCustomerId = '';
    return idempotency.create<PaymentWithSecret, CreatedPayment>({
      operation: 'payments.create',
      key,
      request,
      parentId: customerId,
      check: async () => {
        ({ processorCustomerId } = await customers.read(customerId));
      },
      call: (id, idempotencyKey) =>
        customers.tellTruth(customerId, () =>
          processor.payments.create({ id, processorCustomerId, amount, currency, idempotencyKey }),
        ),
      insert: async (localId, { payment, clientSecret }) => {
        const made = await this.#inserting.add(toPayment({ ...payment, localId }, customerId, clock.now()));
        return made && { payment: made, clientSecret };
      },
      ...this.adoption(customerId),
      replay: (id) => this.#replay(id),
    });
  }

  adoption(customerId: string): Adoption<PaymentWithSecret, CreatedPayment> {
    const { customers, database, processor, store } = this.#parts;
    return {
      find: async (localId, since) => {
        const customer = await customers.findAny(database, customerId);
        if (customer === undefined) return null;
        const { processorCustomerId } = customer;
        return customers.tellTruth(customerId, () =>
          processor.payments.find({ localId, since, processorCustomerId }),
        );
      },
      record: async (tx, id, { payment, clientSecret }) => {
        // The row, if there is one already, was made by a webhook, and so is at least as new as this answer.
        await this.apply(tx, [payment], 'events');
        return { payment: found((await store.find(tx, [id]))[0]), clientSecret };
      },
      release: async () => {},
    };
  }

  async read(id: string): Promise<Payment> {
    return found(isUuid(id) ? await this.#reads.read(id) : undefined);
  }

  list(request: PageRequest, customerId: string | undefined): Promise<Page<Payment>> {
    return this.#parts.store.list(this.#parts.database, request, customerId);
  }

  async cancel(id: string): Promise<Payment> {
    const { processor } = this.#parts;
    const payment = await this.read(id);
    if (payment.status === 'canceled') return payment;
    if (payment.intentStatus === 'succeeded') throw notCancelable(payment.status);
    const { processorPaymentIntentId } = payment;
    // A key of its own for every request: a second cancel does nothing more than the first.
    const attempt = await processor.payments.cancel({
      processorPaymentIntentId,
      idempotencyKey: randomUUID(),
    });
    const corrected =
      attempt.outcome === 'done'
        ? await this.#applyAnswer(payment, attempt.value)
        : await this.correct(payment);
    if (corrected.status === 'canceled') return corrected;
    throw uncancelable.includes(corrected.intentStatus)
      ? notCancelable(corrected.status)
      : notReached(attempt, 'payment', corrected.status);
  }

  /** Reads the processor's present state into ours, and returns what ours is then. Throws if it is unknown there. */
  async correct({ id, processorPaymentIntentId }: Payment): Promise<Payment> {
    await untilKnown('payment', () => this.refresh(processorPaymentIntentId));
    return this.read(id);
  }

  /** Reads the processor's present state into ours. */
  async refresh(processorPaymentIntentId: string): Promise<Applied> {
    const { database, store, processor } = this.#parts;
    const [row] = await store.findByProcessorIds(database, [processorPaymentIntentId]);
    const present = await processor.payments.read(processorPaymentIntentId);
    if (row === undefined)
      return present === null ? ignoredAll(processorPaymentIntentId) : this.#recover(present.payment);
    if (present === null) return unknownThere;
    return this.#applyAndCount(present.payment, new Map([[processorPaymentIntentId, row.revision]]));
  }

  /** A payment that Till made whose row was lost. Its customer may have been lost too, and is recovered first. */
  async #recover(facts: PaymentFacts): Promise<Applied> {
    const { lostCustomers } = this.#parts;
    const { localId, processorCustomerId } = facts;
    const isOurs =
      isOurId(localId) &&
      processorCustomerId !== null &&
      (await lostCustomers.recover(processorCustomerId, facts));
    return isOurs ? this.#applyAndCount(facts, noRevisions) : ignoredAll(keyOf(facts));
  }

  /** For whoever will apply facts to them in several steps. */
  async lock(tx: Transaction, processorPaymentIntentIds: readonly string[]): Promise<void> {
    await this.#parts.store.lockByProcessorIds(tx, processorPaymentIntentIds);
  }

  /** Takes in what the processor says, and counts nothing: the caller does, once its transaction is committed. */
  async apply(tx: Transaction, facts: readonly PaymentFacts[], source: Source): Promise<AppliedPayments> {
    const { store, clock } = this.#parts;
    const groups = groupFacts(facts, keyOf);
    const known = await store.lockByProcessorIds(tx, [...groups.keys()]);
    const unknown = withoutRow(groups, known, keyOf);
    const { made, lost } = await this.#insert(tx, unknown);
    const now = clock.now();
    const { written, applied } = foldFacts({
      rows: unknown.length === 0 ? known : await store.lockByProcessorIds(tx, [...groups.keys()]),
      groups,
      source,
      keyOf,
      take: (payment, next: PaymentFacts, origin) => takePaymentFacts(payment, next, origin, now),
    });
    store.update(
      tx,
      written.map(({ after }) => after),
    );
    const turned = written.filter(
      ({ before, after }) => before.intentStatus !== 'succeeded' && after.intentStatus === 'succeeded',
    );
    const bornSucceeded = made.filter(({ intentStatus }) => intentStatus === 'succeeded');
    const late = made.filter(({ createdAt }) => now.getTime() - createdAt.getTime() > lateAfterMs);
    return {
      ...withRecovery(applied, { made: made.map(keyOf), lost }),
      succeeded: turned.length + bornSucceeded.length,
      late: late.map(keyOf),
    };
  }

  /**
   * A payment intent that we made and that has no row yet: the row is made from it, unless its customer has no row either.
   * Then it is lost, and has to wait for its customer. One that carries no Till id is somebody else's.
   */
  async #insert(
    tx: Transaction,
    unknown: readonly PaymentFacts[],
  ): Promise<{ readonly made: readonly Payment[]; readonly lost: readonly string[] }> {
    const { store, customers, clock } = this.#parts;
    const ours = unknown.filter(({ localId }) => isOurId(localId));
    if (ours.length === 0) return { made: [], lost: [] };
    const owners = await customers.findByProcessorIds(
      tx,
      ours.flatMap(({ processorCustomerId }) => processorCustomerId ?? []),
    );
    const now = clock.now();
    const payments = ours.flatMap((facts) => {
      const customer = owners.get(facts.processorCustomerId ?? '');
      return customer === undefined ? [] : [toPayment(facts, customer.id, now)];
    });
    const lost = ours.filter(({ processorCustomerId }) => !owners.has(processorCustomerId ?? ''));
    return { made: await store.insert(tx, payments), lost: lost.map(keyOf) };
  }

  async #applyAnswer(payment: Payment, facts: PaymentFacts): Promise<Payment> {
    const revisions = new Map([[payment.processorPaymentIntentId, payment.revision]]);
    const { unsettled } = await this.#applyAndCount(facts, revisions);
    return unsettled.length > 0 ? this.correct(payment) : this.read(payment.id);
  }

  async #applyAndCount(facts: PaymentFacts, revisions: Revisions): Promise<Applied> {
    const { database, metrics } = this.#parts;
    const {
      succeeded,
      late: _,
      ...applied
    } = await database.transaction((tx) => this.apply(tx, [facts], revisions));
    metrics.paymentsSucceeded.inc(succeeded);
    return applied;
  }

  async #replay(id: string): Promise<CreatedPayment> {
    const { processor } = this.#parts;
    const payment = await this.read(id);
    if (payment.intentStatus === 'succeeded' || payment.intentStatus === 'canceled') {
      return { payment, clientSecret: null };
    }
    const present = await processor.payments.read(payment.processorPaymentIntentId);
    if (present === null) throw objectMissing('payment');
    return { payment: await this.#applyAnswer(payment, present.payment), clientSecret: present.clientSecret };
  }
}

function found(payment: Payment | undefined): Payment {
  if (payment === undefined) throw new Failure('not_found', 'No payment has this id. Check the id.');
  return payment;
}

function notCancelable(status: string): Failure {
  return new Failure(
    'payment_not_cancelable',
    `The payment is ${status}. You can only cancel a payment that is still open.`,
  );
}

function keyOf({ processorPaymentIntentId }: { readonly processorPaymentIntentId: string }): string {
  return processorPaymentIntentId;
}
