import { TimeZone } from '#core/platform/time-zone.ts';
import { EventStore } from '#engine/events/feed/event-store.ts';
import type { CountedKind } from '#engine/overview/counted-kind.ts';
import type { WebhookEventService } from '#engine/webhooks/webhook-event-service.ts';
import { AttentionService } from '#operators/attention/attention-service.ts';
import { OverviewFollower } from '#operators/overview/overview-follower.ts';
import { OverviewService } from '#operators/overview/overview-service.ts';
import type { ServiceContext } from './compose-context.ts';

/** Wires up the overview: counting the events, showing the numbers, and what needs attention. */
export function composeOverview(
  context: ServiceContext,
  kinds: readonly CountedKind[],
  webhookEvents: WebhookEventService,
) {
  const timeZone = new TimeZone(context.overviewTimeZone);
  const overviewFollower = new OverviewFollower(context, new EventStore(), kinds, timeZone);
  const overview = new OverviewService(context, overviewFollower, webhookEvents, timeZone);
  const attention = new AttentionService(context);
  return { overview, overviewFollower, attention };
}
