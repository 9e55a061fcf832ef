import { currentCause } from '#core/platform/cause.ts';
import type { ProcessorClock } from '#core/platform/clock.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import type { Outbox } from '#engine/events/outbox/outbox.ts';
import type { CustomerTerms, EntitlementService } from '../subscriptions/entitlements/entitlement-service.ts';
import type { MeterStore } from './meter-store.ts';
import {
  findPastPeriods,
  findSubjects,
  type GivenUsage,
  instantOf,
  isSameUsage,
  keyOf,
  keyText,
  type TimedUsage,
  timeRange,
  UsageBatch,
  type UsageSubject,
} from './usage-batch.ts';
import { reportReached } from './usage-limits.ts';
import type { UsagePeriodStore } from './usage-period-store.ts';
import type { UsageStore } from './usage-store.ts';

/** How long the ids of events are remembered. */
const lateMax = 35n * 86_400_000_000n;

export interface UsageContext extends Pick<Platform, 'database' | 'clock' | 'metrics'> {
  readonly store: UsageStore;
  readonly periods: UsagePeriodStore;
  readonly meters: MeterStore;
  readonly entitlements: EntitlementService;
  readonly events: Pick<Outbox, 'report'>;
  readonly processorClock: ProcessorClock;
}

export const rejectionCodes = [
  'customer_not_found',
  'meter_not_found',
  'meter_archived',
  'too_old',
  'in_future',
  'id_reused',
] as const;

type RejectionCode = (typeof rejectionCodes)[number];

interface Rejection {
  readonly index: number;
  readonly id: string;
  readonly code: RejectionCode;
}

interface RecordedUsage {
  readonly recorded: number;
  readonly duplicates: number;
  readonly rejected: readonly Rejection[];
}

/** Records the usage of customers. */
export class UsageService {
  readonly #context: UsageContext;

  constructor(context: UsageContext) {
    this.#context = context;
  }

  /** Records the events of a batch that are valid and new. All of them are committed together, and counted once. */
  async record(application: string, given: readonly GivenUsage[]): Promise<RecordedUsage> {
    const events = given.map((event, index) => ({ event, index, at: instantOf(event) }));
    const { accepted, archived, rejected } = await this.#admit(events);
    const counted = await this.#findCounted(application, archived);
    const past = await findPastPeriods(this.#context, accepted);
    const batch = new UsageBatch(past);
    for (const one of accepted) batch.add(application, one, one.customer, one.meter);
    const { recorded, reused } = await this.#write(batch);
    for (const place of reused) {
      const one = accepted[place];
      if (one !== undefined) rejected.push({ index: one.index, id: one.event.id, code: 'id_reused' });
    }
    for (const [{ index, event }, code] of counted)
      if (code !== 'duplicate') rejected.push({ index, id: event.id, code });
    const duplicates = events.length - recorded - rejected.length;
    this.#count({ recorded, duplicate: duplicates, rejected: rejected.length });
    return { recorded, duplicates, rejected: rejected.toSorted((a, b) => a.index - b.index) };
  }

  async #admit(
    events: readonly PlacedEvent[],
  ): Promise<{ accepted: FoundEvent[]; archived: FoundEvent[]; rejected: Rejection[] }> {
    const latest = events.reduce((max, { at }) => (at > max ? at : max), 0n);
    const { from, to } = await timeRange(this.#context, latest, lateMax);
    const codeOf = (at: bigint): RejectionCode | undefined => {
      if (at < from) return 'too_old';
      return at > to ? 'in_future' : undefined;
    };
    const inTime = events.flatMap(({ event, at }) => (codeOf(at) === undefined ? event : []));
    const subjectOf = await findSubjects(this.#context, inTime, (ids) =>
      this.#context.entitlements.findTerms(ids),
    );
    const accepted: FoundEvent[] = [];
    const archived: FoundEvent[] = [];
    const rejected: Rejection[] = [];
    for (const { event, index, at } of events) {
      const code = codeOf(at);
      const found = code === undefined ? subjectOf(event) : { code };
      if ('code' in found) {
        rejected.push({ index, id: event.id, code: found.code });
        continue;
      }
      const { customer, meter } = found;
      // Each field by its name: copies of whole objects take longer, and a batch has a thousand.
      (meter.active ? accepted : archived).push({ event, index, at, customer, meter });
    }
    return { accepted, archived, rejected };
  }

  /** An event that was counted before its meter was archived is a duplicate. */
  async #findCounted(
    application: string,
    archived: readonly FoundEvent[],
  ): Promise<readonly (readonly [FoundEvent, RejectionCode | 'duplicate'])[]> {
    if (archived.length === 0) return [];
    const { database, store } = this.#context;
    const keys = archived.map(({ event: { id }, at }) => keyOf({ application, id, at }));
    const stored = new Map((await store.find(database, keys)).map((row) => [keyText(row), row]));
    return archived.map((one, place) => {
      const { event, at, customer, meter } = one;
      const key = keys[place];
      const known = key && stored.get(keyText(key));
      if (known === undefined) return [one, 'meter_archived'];
      const subject = { customerId: customer.customerId, meterId: meter.id };
      const isSame = isSameUsage(known, { at, quantity: event.quantity ?? 1 }, subject);
      return [one, isSame ? 'duplicate' : 'id_reused'];
    });
  }

  /** `reused`: the indexes of events in the batch whose id was used for another event. */
  async #write(batch: UsageBatch): Promise<{ recorded: number; reused: readonly number[] }> {
    const { database, store, clock } = this.#context;
    if (batch.events.length === 0) return { recorded: 0, reused: [] };
    return database.transaction(async (tx) => {
      const { count, inserted, counters } = await store.add(tx, batch, 'reached', clock.now());
      const reused = inserted === null ? [] : await this.#findReused(tx, batch, inserted);
      const cause = currentCause();
      const reached = counters.flatMap(({ window, used }) => {
        const found = batch.windows[window];
        return found === undefined ? [] : [{ ...found, used: Number(used), cause }];
      });
      if (reached.length > 0) reportReached(tx, this.#context, reached);
      return { recorded: count, reused };
    });
  }

  /**
   * Compares the events that were not inserted with the stored ones. An event of another transaction is visible only to
   * a later statement than the insert that waited for it.
   */
  async #findReused(
    tx: Transaction,
    { events, windows }: Pick<UsageBatch, 'events' | 'windows'>,
    inserted: readonly (readonly [application: string, id: string, day: string])[],
  ): Promise<readonly number[]> {
    const fresh = new Set(inserted.map(([application, id, day]) => keyText({ application, id, day })));
    const keys = events.map(keyOf);
    const repeated = keys.filter((key) => !fresh.has(keyText(key)));
    const stored = repeated.length === 0 ? [] : await this.#context.store.find(tx, repeated);
    const first = new Map(stored.map((row) => [keyText(row), row]));
    return events.flatMap((event, place) => {
      const [key, window] = [keys[place], windows[event.window]];
      if (key === undefined || window === undefined) return [];
      const known = first.get(keyText(key));
      // The first event of the batch with this id is the one that was inserted.
      if (known === undefined) first.set(keyText(key), { ...event, ...window, ...key });
      return known === undefined || isSameUsage(known, event, window) ? [] : [place];
    });
  }

  #count(results: Readonly<Record<'recorded' | 'duplicate' | 'rejected', number>>): void {
    for (const [result, count] of Object.entries(results))
      this.#context.metrics.usageEvents.inc({ result }, count);
  }
}

interface PlacedEvent extends TimedUsage {
  readonly index: number;
}

type FoundEvent = PlacedEvent & UsageSubject<CustomerTerms>;
