import type { EventToApply, Settlement } from '#core/model/webhook-event.ts';
import type { Logger } from '#core/platform/logger.ts';
import type { Metrics } from '#core/platform/metrics.ts';

export interface EventOutcome {
  readonly event: EventToApply;
  readonly state: 'processed' | 'ignored' | 'failed';
  readonly error: string | null;
  /** Counts what the event reports. Undefined if nothing is counted. */
  readonly count: (() => void) | undefined;
}

export function outcomeOf(event: EventToApply, isOurs: boolean, count?: EventOutcome['count']): EventOutcome {
  return { event, state: isOurs ? 'processed' : 'ignored', error: null, count };
}

/** An event that has its outcome. */
export function settlementOf({ event, state, error }: EventOutcome): Settlement {
  const { id, createdAt, attempts } = event;
  return { id, createdAt, state, attempts: attempts + 1, lastError: error, delayMs: 0 };
}

/** An event that waits for its next attempt. */
export function pending(
  event: EventToApply,
  attempts: number,
  delayMs: number,
  lastError: string | null,
): Settlement {
  return { id: event.id, createdAt: event.createdAt, state: 'pending', attempts, lastError, delayMs };
}

/** Counts new outcomes after their commit. The caller leaves out outcomes that a replay or a second worker repeats. */
export function countOutcomes(metrics: Metrics, logger: Logger, outcomes: readonly EventOutcome[]): void {
  for (const { event, state, error, count } of outcomes) {
    const type = metrics.eventTypeLabel(event.type);
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
    count?.();
  }
}
