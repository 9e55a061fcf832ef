import type { WebhookBacklog } from '../model/webhook-event.ts';
import type { Clock } from '../platform/clock.ts';
import { dayOf } from '../platform/day.ts';
import type { Database } from '../platform/postgres.ts';
import { type OverviewFollower, overviewPending } from './overview-follower.ts';
import { addCounts, type CurrencyNumbers, numbersOf, type SubscriptionCounts } from './overview-numbers.ts';
import type { DayRange } from './overview-range.ts';
import type { OverviewStore } from './overview-store.ts';

export interface Overview extends DayRange {
  readonly currency: string | null;
  readonly asOf: Date;
  readonly isCurrent: boolean;
  readonly subscriptionsSince: string;
  readonly subscriptions: SubscriptionCounts;
  readonly currencies: readonly CurrencyNumbers[];
  readonly webhooks: WebhookBacklog;
}

interface OverviewParts {
  readonly database: Database;
  readonly store: OverviewStore;
  readonly follower: OverviewFollower;
  readonly webhookEvents: { backlog(): Promise<WebhookBacklog> };
  readonly clock: Clock;
}

/** The numbers of the console's first page. */
export class OverviewService {
  readonly #parts: OverviewParts;

  constructor(parts: OverviewParts) {
    this.#parts = parts;
  }

  async read(range: DayRange, currency: string | undefined): Promise<Overview> {
    const { database, store, follower, webhookEvents, clock } = this.#parts;
    const requestedAt = clock.now();
    const isCurrent = await follower.catchUp();
    const progress = await store.progress(database);
    if (progress.position === null) throw overviewPending();
    const [cells, webhooks] = await Promise.all([
      store.read(database, { ...range, currency }),
      webhookEvents.backlog(),
    ]);
    const { since, asOf } = progress;
    const today = dayOf(requestedAt.getTime());
    const currencies = numbersOf(cells, { range, currency, since, today });
    return {
      ...range,
      currency: currency ?? null,
      asOf: isCurrent ? requestedAt : asOf,
      isCurrent,
      subscriptionsSince: since,
      subscriptions: addCounts(currencies),
      currencies,
      webhooks,
    };
  }
}
