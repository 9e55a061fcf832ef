import { EventStore } from '../events/feed/event-store.ts';
import { countedTables } from '../overview/overview-count-store.ts';
import { OverviewFollower } from '../overview/overview-follower.ts';
import { OverviewService } from '../overview/overview-service.ts';
import { OverviewStore } from '../overview/overview-store.ts';
import type { Clock } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import type { Database } from '../platform/postgres.ts';
import type { WebhookEventService } from '../webhooks/webhook-event-service.ts';
import type { Stores } from './compose-stores.ts';

interface OverviewParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stores: Stores;
  readonly webhookEvents: WebhookEventService;
}

/** Wires up the overview: counting the events, and showing the numbers. */
export function composeOverview(parts: OverviewParts) {
  const store = new OverviewStore();
  const overviewFollower = new OverviewFollower({
    ...parts,
    store,
    events: new EventStore(),
    plans: parts.stores.plans,
    tables: countedTables,
  });
  const overview = new OverviewService({ ...parts, store, follower: overviewFollower });
  return { overview, overviewFollower };
}
