import { AttentionService } from '../attention/attention-service.ts';
import { AttentionStore } from '../attention/attention-store.ts';
import { EventStore } from '../events/feed/event-store.ts';
import { MoveStore } from '../overview/move-store.ts';
import { OverviewFollower } from '../overview/overview-follower.ts';
import { OverviewService } from '../overview/overview-service.ts';
import { OverviewStore } from '../overview/overview-store.ts';
import type { Clock } from '../platform/clock.ts';
import type { PlatformParts } from '../platform/parts.ts';
import { TimeZone } from '../platform/time-zone.ts';
import type { WebhookEventService } from '../webhooks/webhook-event-service.ts';
import type { Stores } from './compose-mirrors.ts';

interface OverviewParts extends Pick<PlatformParts, 'database' | 'logger' | 'metrics'> {
  readonly clock: Clock;
  readonly overviewTimeZone: string;
  readonly stores: Stores;
  readonly webhookEvents: WebhookEventService;
}

/** Wires up the overview: counting the events, showing the numbers, and what needs attention. */
export function composeOverview(parts: OverviewParts) {
  const store = new OverviewStore();
  const moves = new MoveStore();
  const timeZone = new TimeZone(parts.overviewTimeZone);
  const overviewFollower = new OverviewFollower({
    ...parts,
    store,
    moves,
    events: new EventStore(),
    plans: parts.stores.plans,
    timeZone,
  });
  const overview = new OverviewService({ ...parts, store, moves, timeZone, follower: overviewFollower });
  const attention = new AttentionService({ ...parts, store: new AttentionStore() });
  return { overview, overviewFollower, attention };
}
