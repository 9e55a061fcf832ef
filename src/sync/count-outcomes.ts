import type { WebhookEvent } from '../model/webhook-event.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import { eventTypeLabel } from '../processor/port/event-types.ts';

export interface Outcome {
  readonly event: WebhookEvent;
  readonly state: 'processed' | 'ignored' | 'failed';
  readonly error: string | null;
  /** The event reports a failed attempt to pay a payment that was made through the API. */
  readonly failsPayment: boolean;
}

/** Counts new outcomes after their commit. The caller leaves out outcomes that a replay or a second worker repeats. */
export function countOutcomes(metrics: Metrics, logger: Logger, outcomes: readonly Outcome[]): void {
  for (const { event, state, error, failsPayment } of outcomes) {
    const type = eventTypeLabel(event.type);
    if (state === 'failed') {
      metrics.webhookEventsFailed.inc({ type });
      logger.error(
        { event: event.id, type: event.type, object: event.objectId, reason: error },
        'webhook event failed permanently',
      );
    }
    if (state === 'ignored') metrics.webhookEventsIgnored.inc({ type });
    if (state !== 'processed') continue;
    metrics.webhookEventsProcessed.inc({ type });
    metrics.webhookLag.observe(Math.max(Date.now() - event.receivedAt.getTime(), 0) / 1_000);
    if (failsPayment) metrics.paymentsFailed.inc();
  }
}
