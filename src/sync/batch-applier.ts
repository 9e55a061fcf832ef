import type { Applied } from '../model/fold.ts';
import { runWithCauses } from '../platform/cause.ts';
import type { Database, Transaction, TransactionOptions } from '../platform/postgres.ts';
import type { Subject } from '../processor/port/event-facts.ts';
import type { Processor } from '../processor/port/processor.ts';
import { BatchCauses } from './batch-causes.ts';
import { type EventOutcome, outcomeOf } from './event-outcomes.ts';
import { type EventReading, factsAbout, isFailedPayment } from './event-reading.ts';
import type { Mirrors, MirrorsBySubject } from './mirrors.ts';

interface BatchApplierParts {
  readonly database: Database;
  readonly processor: Pick<Processor, 'causeOf'>;
  readonly mirrors: Mirrors;
  readonly bySubject: MirrorsBySubject;
}

/** An object whose row has to be refreshed. */
export interface RefreshTarget {
  readonly subject: Subject;
  readonly key: string;
}

/** An event that was applied, and whose outcome depends on refreshes. */
export interface Refresh extends Pick<EventReading, 'event' | 'write'> {
  readonly failsPayment: boolean;
  readonly targets: readonly RefreshTarget[];
}

/** The outcome of the events of a batch. Each event is in one of the two lists. */
export interface BatchResult {
  readonly outcomes: readonly EventOutcome[];
  readonly refreshes: readonly Refresh[];
}

/** The subjects whose mirrors lock payments, in the order in which they are applied. */
const lockingPayments = ['payment', 'charge', 'dispute', 'refund'] as const satisfies readonly Subject[];

/** Applies the events of the transaction. Call it once. */
type Apply = (readings: readonly EventReading[]) => Promise<BatchResult>;

/** Applies batches of events to the mirrors, each in one transaction. The caller claims and settles the events in it. */
export class BatchApplier {
  readonly #parts: BatchApplierParts;

  constructor(parts: BatchApplierParts) {
    this.#parts = parts;
  }

  /** The first statement of `work` only reads or locks. The cause of each change is the newest event about its object. */
  transact<Result>(
    work: (tx: Transaction, apply: Apply) => Promise<Result>,
    options: Pick<TransactionOptions, 'lockTimeoutMs'> = {},
  ): Promise<Result> {
    const causes = new BatchCauses(this.#parts.processor);
    return runWithCauses(
      (ids) => causes.find(ids),
      () =>
        this.#parts.database.transaction(
          (tx) =>
            work(tx, (readings) => {
              causes.set(readings);
              return this.#apply(tx, readings);
            }),
          { ...options, startsWithRead: true },
        ),
    );
  }

  async #apply(tx: Transaction, readings: readonly EventReading[]): Promise<BatchResult> {
    const outcomes: EventOutcome[] = [];
    const refreshes: Refresh[] = [];
    // `Object.keys` does not know that there are no other subjects.
    for (const subject of Object.keys(this.#parts.bySubject) as readonly Subject[]) {
      const own = readings.filter((reading) => reading.subject === subject);
      if (own.length === 0) continue;
      const applied = await this.#applySubject(tx, subject, readings);
      const [unsettled, ignored] = [new Set(applied.unsettled), new Set(applied.ignored)];
      const late = new Set(applied.late);
      for (const reading of own) {
        const { event, write, keys } = reading;
        const failsPayment = isFailedPayment(reading);
        // A late row may come from an old event, for example a replayed one, so its object is refreshed too. So is the
        // object of an event whose last refresh did not end: its worker may have created the row, and then died before
        // it returned earlier events to the queue.
        const wasTried = (key: string) => event.attempts > 0 && !ignored.has(key);
        const needsRefresh = (key: string) => unsettled.has(key) || late.has(key) || wasTried(key);
        const voided = voidedInvoicesOf(reading);
        const targets = [
          ...keys.filter((key) => needsRefresh(key) || voided.length > 0).map((key) => ({ subject, key })),
          ...refundsOf(keys.filter((key) => late.has(key) || (subject === 'payment' && wasTried(key)))),
          ...voided,
        ];
        if (targets.length > 0) refreshes.push({ event, write, targets, failsPayment });
        else outcomes.push(outcomeOf(event, !keys.every((key) => ignored.has(key)), failsPayment));
      }
    }
    return { outcomes, refreshes };
  }

  async #applySubject<S extends Subject>(
    tx: Transaction,
    subject: S,
    readings: readonly EventReading[],
  ): Promise<Applied> {
    await this.#lockShared(tx, subject, readings);
    const facts = factsAbout(readings, subject);
    return this.#parts.bySubject[subject].apply(tx, facts, 'events');
  }

  /**
   * Locks rows that several subjects of a batch share: products and prices share plans; payments, charges, disputes and
   * refunds share payments. Each mirror locks in the order of the ids, but two mirrors in sequence do not. So the first
   * one locks all rows.
   */
  async #lockShared(tx: Transaction, subject: Subject, readings: readonly EventReading[]): Promise<void> {
    const { plans, payments } = this.#parts.mirrors;
    if (subject === 'product')
      await plans.lock(tx, factsAbout(readings, 'product'), factsAbout(readings, 'price'));
    const [first, ...others] = lockingPayments.filter((one) =>
      readings.some((reading) => reading.subject === one),
    );
    // The mirror of a single subject itself locks all payments in one statement.
    if (subject !== first || others.length === 0) return;
    const keys = lockingPayments
      .flatMap((one) => factsAbout(readings, one))
      .flatMap(({ processorPaymentIntentId }) => processorPaymentIntentId ?? []);
    await payments.lock(tx, [...new Set(keys)]);
  }
}

/** What a voided invoice has taken must wait again. */
function voidedInvoicesOf(reading: EventReading): readonly RefreshTarget[] {
  return factsAbout([reading], 'invoice').flatMap(({ mayLose, processorSubscriptionId: key }) =>
    mayLose === true && key !== null ? [{ subject: 'voidedInvoice', key } as const] : [],
  );
}

/** A payment recorded late also needs its refunds, because earlier events about them found no row. */
export function refundsOf(latePayments: readonly string[]): readonly RefreshTarget[] {
  return latePayments.map((key) => ({ subject: 'refundedPayment', key }));
}
