import type { Outbox } from '../events/outbox/outbox.ts';
import type { MeterTerms } from '../model/meter.ts';
import { needsPastPeriods } from '../model/usage-window.ts';
import { currentCause } from '../platform/cause.ts';
import type { ProcessorClock } from '../platform/clock.ts';
import { dateOfInstant } from '../platform/instant.ts';
import type { PlatformParts } from '../platform/parts.ts';
import type { Transaction } from '../platform/postgres.ts';
import type { CustomerTerms, EntitlementService } from '../subscriptions/entitlements/entitlement-service.ts';
import {
  BatchCustomers,
  customerIdsOf,
  type GivenUsage,
  instantOf,
  isSameUsage,
  keyOf,
  keyText,
  type PastPeriods,
  type TimedUsage,
  UsageBatch,
} from './usage-batch.ts';
import { reportReached } from './usage-limits.ts';
import type { UsagePeriodStore } from './usage-period-store.ts';
import type { UsageStore } from './usage-store.ts';
import { timeRange } from './usage-time.ts';

/** How long the ids of events are remembered. */
const lateMax = 35n * 86_400_000_000n;

export interface UsageParts extends Pick<PlatformParts, 'database' | 'clock' | 'metrics'> {
  readonly store: UsageStore;
  readonly periods: UsagePeriodStore;
  readonly entitlements: EntitlementService;
  readonly events: Outbox;
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

export interface RecordedUsage {
  readonly recorded: number;
  readonly duplicates: number;
  readonly rejected: readonly Rejection[];
}

/** Records what customers have used. */
export class UsageService {
  readonly #parts: UsageParts;

  constructor(parts: UsageParts) {
    this.#parts = parts;
  }

  /** Records the events of a batch that are valid and new. All of them are committed together, and counted once. */
  async record(application: string, given: readonly GivenUsage[]): Promise<RecordedUsage> {
    const events = given.map((event, index) => ({ event, index, at: instantOf(event) }));
    const { accepted, rejected } = await this.#admit(events);
    const past = await findPastPeriods(this.#parts, accepted);
    const batch = new UsageBatch(past);
    for (const one of accepted) batch.add(application, one, one.customer, one.meter);
    const { recorded, reused } = await this.#write(batch);
    for (const place of reused) {
      const one = accepted[place];
      if (one !== undefined) rejected.push({ index: one.index, id: one.event.id, code: 'id_reused' });
    }
    const duplicates = accepted.length - recorded - reused.length;
    this.#count({ recorded, duplicate: duplicates, rejected: rejected.length });
    return { recorded, duplicates, rejected: rejected.toSorted((a, b) => a.index - b.index) };
  }

  async #admit(
    events: readonly PlacedEvent[],
  ): Promise<{ accepted: AcceptedEvent[]; rejected: Rejection[] }> {
    const latest = events.reduce((max, { at }) => (at > max ? at : max), 0n);
    const { from, to } = await timeRange(this.#parts, latest, lateMax);
    const codeOf = (at: bigint): RejectionCode | undefined => {
      if (at < from) return 'too_old';
      return at > to ? 'in_future' : undefined;
    };
    const inTime = events.flatMap(({ event, at }) => (codeOf(at) === undefined ? event : []));
    const customers = new BatchCustomers(await this.#parts.entitlements.findTerms(customerIdsOf(inTime)));
    const accepted: AcceptedEvent[] = [];
    const rejected: Rejection[] = [];
    for (const { event, index, at } of events) {
      const code = codeOf(at);
      const found = code === undefined ? findSubject(customers, event) : { code };
      if ('code' in found) rejected.push({ index, id: event.id, code: found.code });
      // Each field by its name: copies of whole objects take longer, and a batch has a thousand.
      else accepted.push({ event, index, at, customer: found.customer, meter: found.meter });
    }
    return { accepted, rejected };
  }

  /** `reused` has the places of events in the batch whose id was used for another one. */
  async #write(batch: UsageBatch): Promise<{ recorded: number; reused: readonly number[] }> {
    const { database, store, clock } = this.#parts;
    if (batch.events.length === 0) return { recorded: 0, reused: [] };
    return database.transaction(async (tx) => {
      const { count, inserted, counters } = await store.add(tx, batch, 'reached', clock.now());
      const reused = inserted === null ? [] : await this.#findReused(tx, batch, inserted);
      const cause = currentCause();
      reportReached(
        tx,
        this.#parts,
        counters.flatMap(({ window, used }) => {
          const found = batch.windows[window];
          return found === undefined ? [] : [{ ...found, used: Number(used), cause }];
        }),
      );
      return { recorded: count, reused };
    });
  }

  /**
   * Compares the events that were not inserted with those that were there first. An event of another transaction is
   * visible only to the statement after the insert that waited for it.
   */
  async #findReused(
    tx: Transaction,
    { events, windows }: Pick<UsageBatch, 'events' | 'windows'>,
    inserted: readonly (readonly [application: string, id: string, day: string])[],
  ): Promise<readonly number[]> {
    const fresh = new Set(inserted.map(([application, id, day]) => keyText({ application, id, day })));
    const keys = events.map(keyOf);
    const repeated = keys.filter((key) => !fresh.has(keyText(key)));
    const stored = repeated.length === 0 ? [] : await this.#parts.store.find(tx, repeated);
    const first = new Map(stored.map((row) => [keyText(row), row]));
    return events.flatMap((event, place) => {
      const [key, window] = [keys[place], windows[event.window]];
      if (key === undefined || window === undefined) return [];
      const known = first.get(keyText(key));
      // The first of the batch is the one that was inserted.
      if (known === undefined) first.set(keyText(key), { ...event, ...window, ...key });
      return known === undefined || isSameUsage(known, event, window) ? [] : [place];
    });
  }

  #count(results: Readonly<Record<'recorded' | 'duplicate' | 'rejected', number>>): void {
    for (const [result, count] of Object.entries(results))
      this.#parts.metrics.usageEvents.inc({ result }, count);
  }
}

interface PlacedEvent extends TimedUsage {
  readonly index: number;
}

type AcceptedEvent = PlacedEvent & UsageSubject<CustomerTerms>;

/** The customer and the meter of an event. */
export interface UsageSubject<Terms extends CustomerTerms> {
  readonly customer: Terms;
  readonly meter: MeterTerms;
}

/** Why an event has no customer or no meter. */
interface UnknownSubject<Code> {
  readonly code: Code;
}

export function findSubject<Terms extends CustomerTerms>(
  customers: BatchCustomers<Terms>,
  event: GivenUsage,
): UsageSubject<Terms> | UnknownSubject<'customer_not_found' | 'meter_not_found' | 'meter_archived'> {
  const customer = customers.of(event);
  if (customer === undefined) return { code: 'customer_not_found' };
  const meter = customer.meters.find(({ key }) => key === event.meter);
  if (meter === undefined) return { code: 'meter_not_found' };
  return meter.active ? { customer, meter } : { code: 'meter_archived' };
}

/** The earlier periods of subscriptions that have changed since an event. Usually there are none. */
export async function findPastPeriods(
  { database, periods }: Pick<UsageParts, 'database' | 'periods'>,
  events: readonly (TimedUsage & { readonly customer: CustomerTerms })[],
): Promise<PastPeriods> {
  const late = new Set<string>();
  let since = new Date(8.64e15);
  for (const { at, customer } of events) {
    const time = dateOfInstant(at);
    if (!needsPastPeriods(customer.subscriptions, time)) continue;
    if (time < since) since = time;
    for (const { subscriptionId } of customer.subscriptions) late.add(subscriptionId);
  }
  return late.size === 0 ? new Map() : periods.find(database, [...late], since);
}
