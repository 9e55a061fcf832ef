import type { MeterTerms } from '#core/model/meter.ts';
import { limitOf, needsPastPeriods, type PastPeriod, windowOf } from '#core/model/usage-window.ts';
import type { Clock, ProcessorClock } from '#core/platform/clock.ts';
import { dayOf } from '#core/platform/day.ts';
import { dateOfInstant, type Instant, instantOfDate, parseInstant } from '#core/platform/instant.ts';
import type { Database } from '#core/platform/postgres.ts';
import type { CustomerIds, CustomerTerms } from '../subscriptions/entitlements/entitlement-service.ts';
import type { MeterStore } from './meter-store.ts';
import type { UsagePeriodStore } from './usage-period-store.ts';
import type { CounterWindow, NewUsage, StoredUsage, UsageKey } from './usage-store.ts';

/** An event as an application sends it. It names its customer by one of the two ids. */
export interface GivenUsage {
  readonly id: string;
  readonly customerId?: string | undefined;
  readonly externalId?: string | undefined;
  readonly meter: string;
  /** Default: 1. */
  readonly quantity?: number | undefined;
  readonly at: string;
}

/** An event whose time is parsed. */
export interface TimedUsage {
  readonly event: GivenUsage;
  readonly at: Instant;
}

/** The earlier terms of subscriptions, by the ids of the subscriptions. */
type PastPeriods = ReadonlyMap<string, readonly PastPeriod[]>;

export interface BatchWindow extends CounterWindow {
  readonly meterKey: string;
}

/** Collects events with the windows that they count in, each window once. */
export class UsageBatch {
  readonly events: NewUsage[] = [];
  readonly windows: BatchWindow[] = [];
  /** The indexes of the windows of each customer. Most customers have one. */
  readonly #places = new Map<string, number[]>();
  readonly #past: PastPeriods;

  constructor(past: PastPeriods) {
    this.#past = past;
  }

  add(application: string, { event, at }: TimedUsage, customer: CustomerTerms, meter: MeterTerms): void {
    const window = this.windowFor(customer, meter, at);
    const { id, quantity = 1 } = event;
    this.events.push({ application, id, at, quantity, window: this.#placeOf(window) });
  }

  /** The window in which an event counts. */
  windowFor(customer: CustomerTerms, meter: MeterTerms, at: Instant): BatchWindow {
    const { customerId, subscriptions, readAt } = customer;
    const terms =
      this.#past.size === 0
        ? subscriptions
        : subscriptions.map((one) => ({ ...one, pastPeriods: this.#past.get(one.subscriptionId) }));
    const window = windowOf(terms, meter, dateOfInstant(at));
    const { start: startsAt, end: endsAt, isGranted, windowNumber } = window;
    const limit = isGranted ? limitOf(customer.features[meter.key]) : 0;
    return {
      customerId,
      meterId: meter.id,
      meterKey: meter.key,
      startsAt,
      windowNumber,
      endsAt,
      readAt,
      limit,
    };
  }

  #placeOf(window: BatchWindow): number {
    const places = this.#places.get(window.customerId);
    const known = places?.find((place) => isSameWindow(this.windows[place], window));
    if (known !== undefined) return known;
    const place = this.windows.push(window) - 1;
    if (places === undefined) this.#places.set(window.customerId, [place]);
    else places.push(place);
    return place;
  }
}

/** The windows of one customer. */
function isSameWindow(
  one: BatchWindow | undefined,
  { meterId, startsAt, windowNumber }: BatchWindow,
): boolean {
  return (
    one?.startsAt.getTime() === startsAt.getTime() &&
    one.meterId === meterId &&
    one.windowNumber === windowNumber
  );
}

export function windowKey({ customerId, meterId, startsAt, windowNumber }: CounterWindow): string {
  return `${customerId} ${meterId} ${startsAt.getTime()} ${windowNumber}`;
}

/** Rounded down, so that it stays on its day. The schema accepts only texts that `parseInstant` accepts. */
export function instantOf({ at }: Pick<GivenUsage, 'at'>): Instant {
  return parseInstant(at, 'down') ?? 0n;
}

export function keyOf({ application, id, at }: Pick<NewUsage, 'application' | 'id' | 'at'>): UsageKey {
  return { application, id, day: dayOf(dateOfInstant(at).getTime()) };
}

/** Identifies an event within a map. Names and ids contain no line break. */
export function keyText({ application, id, day }: UsageKey): string {
  return `${application}\n${day}\n${id}`;
}

/** Whether a repeated event has the content of the first one. */
export function isSameUsage(
  stored: Omit<StoredUsage, keyof UsageKey>,
  event: Pick<NewUsage, 'at' | 'quantity'>,
  window: Pick<CounterWindow, 'customerId' | 'meterId'>,
): boolean {
  return (
    stored.at === event.at &&
    stored.quantity === event.quantity &&
    stored.customerId === window.customerId &&
    stored.meterId === window.meterId
  );
}

/** The customer and the meter of an event. The meter may be archived. */
export interface UsageSubject<Terms extends CustomerTerms> {
  readonly customer: Terms;
  readonly meter: MeterTerms;
}

/** Why an event has no customer or no meter. */
interface UnknownSubject {
  readonly code: 'customer_not_found' | 'meter_not_found';
}

/**
 * Finds the customers and the meters of a batch. The terms of customers contain all active meters. Archived meters, of
 * which there may be any number, are looked up only if an event names one.
 */
export async function findSubjects<Terms extends CustomerTerms>(
  { database, meters }: { readonly database: Database; readonly meters: MeterStore },
  events: readonly GivenUsage[],
  findTerms: (ids: CustomerIds) => Promise<readonly Terms[]>,
): Promise<(event: GivenUsage) => UsageSubject<Terms> | UnknownSubject> {
  const customers = await findTerms(customerIdsOf(events));
  const byId = new Map(customers.map((one) => [one.customerId, one]));
  const byExternalId = new Map(customers.map((one) => [one.externalId, one]));
  const byKey = new Map(customers[0]?.meters.map((meter) => [meter.key, meter]));
  const others = new Set(events.flatMap(({ meter }) => (byKey.has(meter) ? [] : meter)));
  if (customers.length > 0 && others.size > 0)
    for (const meter of await meters.findByKeys(database, [...others])) byKey.set(meter.key, meter);
  return ({ customerId, externalId, meter: key }) => {
    const customer =
      customerId === undefined ? byExternalId.get(externalId ?? '') : byId.get(customerId.toLowerCase());
    if (customer === undefined) return { code: 'customer_not_found' };
    const meter = byKey.get(key);
    return meter === undefined ? { code: 'meter_not_found' } : { customer, meter };
  };
}

/** The ids of the customers that events name. */
function customerIdsOf(events: readonly GivenUsage[]): CustomerIds {
  return {
    ids: [...new Set(events.flatMap(({ customerId }) => customerId?.toLowerCase() ?? []))],
    externalIds: [...new Set(events.flatMap(({ externalId }) => externalId ?? []))],
  };
}

/** Clocks of applications differ from Till's by less. */
const aheadMax = 300_000_000n;

interface Clocks {
  readonly clock: Clock;
  readonly processorClock: ProcessorClock;
}

/** The times that events may have, inclusive. */
interface TimeRange {
  readonly from: Instant;
  readonly to: Instant;
}

/**
 * The range around now. A time beyond it may be one of a sandbox whose clock is ahead, so only such a time needs the
 * sandbox's clock.
 */
export async function timeRange(
  { clock, processorClock }: Clocks,
  latest: Instant,
  backMax: Instant,
): Promise<TimeRange> {
  const now = instantOfDate(clock.now());
  const from = now - backMax;
  if (latest <= now + aheadMax) return { from, to: now + aheadMax };
  return { from, to: instantOfDate(await processorClock.read()) + aheadMax };
}

/** The earlier periods of subscriptions that have changed since an event. Usually there are none. */
export async function findPastPeriods(
  { database, periods }: { readonly database: Database; readonly periods: UsagePeriodStore },
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
