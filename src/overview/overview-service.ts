import type { WebhookBacklog } from '../model/webhook-event.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database, Queryable } from '../platform/postgres.ts';
import type { TimeZone } from '../platform/time-zone.ts';
import { type OverviewFollower, overviewPending } from './overview-follower.ts';
import { addCounts, type CurrencyNumbers, numbersOf, type SubscriptionCounts } from './overview-numbers.ts';
import { type DayRange, type Interval, rangeBefore, rangeOf } from './overview-range.ts';
import type { CellRange, OverviewStore } from './overview-store.ts';

export interface Overview extends DayRange {
  readonly interval: Interval;
  readonly timeZone: string;
  /** The first time of the range, and the first time after it. */
  readonly startsAt: Date;
  readonly endsAt: Date;
  readonly currency: string | null;
  readonly asOf: Date;
  readonly isCurrent: boolean;
  readonly subscriptionsSince: string;
  readonly subscriptions: SubscriptionCounts;
  readonly currencies: readonly CurrencyNumbers[];
  readonly webhooks: WebhookBacklog;
}

export interface OverviewRequest {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly currency?: string | undefined;
  readonly interval?: Interval | undefined;
  readonly compare?: 'previous' | undefined;
}

interface OverviewParts {
  readonly database: Database;
  readonly store: OverviewStore;
  readonly follower: OverviewFollower;
  readonly webhookEvents: { backlog(): Promise<WebhookBacklog> };
  readonly clock: Clock;
  readonly timeZone: TimeZone;
}

/** The numbers of the console's first page. */
export class OverviewService {
  readonly #parts: OverviewParts;

  constructor(parts: OverviewParts) {
    this.#parts = parts;
  }

  async read({ currency, interval = 'day', compare, ...days }: OverviewRequest): Promise<Overview> {
    const { database, follower, webhookEvents, clock, timeZone } = this.#parts;
    const requestedAt = clock.now();
    const today = timeZone.dayOf(requestedAt.getTime());
    const range = rangeOf(days, today);
    const previous = compare === 'previous' ? rangeBefore(range) : undefined;
    const isCurrent = await follower.catchUp();
    const wanted = { from: (previous ?? range).from, to: range.to, currency };
    const [{ progress, cells }, webhooks] = await Promise.all([
      // The numbers must include what has just been counted.
      database.read((db) => this.#readNumbers(db, wanted), { seesOwnCommits: true }),
      webhookEvents.backlog(),
    ]);
    if (!follower.isCounted(progress)) throw overviewPending();
    const { since, asOf } = progress;
    const currencies = numbersOf(cells, { range, previous, interval, currency, since, today });
    return {
      ...{ ...range, interval, timeZone: timeZone.name },
      startsAt: new Date(timeZone.startOf(range.from)),
      endsAt: new Date(timeZone.endOf(range.to)),
      currency: currency ?? null,
      asOf: isCurrent ? requestedAt : asOf,
      isCurrent,
      subscriptionsSince: since,
      subscriptions: addCounts(currencies),
      currencies,
      webhooks,
    };
  }

  async #readNumbers(db: Queryable, range: CellRange) {
    const { store } = this.#parts;
    return { progress: await store.progress(db), cells: await store.read(db, range) };
  }
}
