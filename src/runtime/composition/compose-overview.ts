import type { Platform } from '#core/platform/platform.ts';
import { TimeZone } from '#core/platform/time-zone.ts';
import { EventStore } from '#engine/events/feed/event-store.ts';
import type { CountedKind } from '#engine/overview/counted-kind.ts';
import type { WebhookEventService } from '#engine/webhooks/webhook-event-service.ts';
import { AttentionService } from '#operators/attention/attention-service.ts';
import { MoveStore } from '#operators/overview/move-store.ts';
import { OverviewFollower } from '#operators/overview/overview-follower.ts';
import { OverviewService } from '#operators/overview/overview-service.ts';
import { OverviewStore } from '#operators/overview/overview-store.ts';

interface OverviewParts extends Platform {
  readonly overviewTimeZone: string;
  readonly kinds: readonly CountedKind[];
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
    kinds: parts.kinds,
    timeZone,
  });
  const overview = new OverviewService({ ...parts, store, moves, timeZone, follower: overviewFollower });
  const attention = new AttentionService(parts);
  return { overview, overviewFollower, attention };
}
