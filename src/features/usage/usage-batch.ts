import type { MeterTerms } from '#core/model/meter.ts';
import { limitOf, type PastPeriod, windowOf } from '#core/model/usage-window.ts';
import { dayOf } from '#core/platform/day.ts';
import { dateOfInstant, type Instant, parseInstant } from '#core/platform/instant.ts';
import type { CustomerTerms } from '../subscriptions/entitlements/entitlement-service.ts';
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
export type PastPeriods = ReadonlyMap<string, readonly PastPeriod[]>;

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
