import type { Settlement, WebhookEvent } from '../model/webhook-event.ts';
import type { Outcome } from './count-outcomes.ts';

export function outcomeOf(event: WebhookEvent, isOurs: boolean, failsPayment = false): Outcome {
  return { event, state: isOurs ? 'processed' : 'ignored', error: null, failsPayment };
}

/** An event that has its outcome. */
export function settlementOf({ event, state, error }: Outcome): Settlement {
  const { id, createdAt, attempts } = event;
  return { id, createdAt, state, attempts: attempts + 1, lastError: error, delayMs: 0 };
}

/** An event that waits for its next attempt. */
export function pending(
  event: WebhookEvent,
  attempts: number,
  delayMs: number,
  lastError: string | null,
): Settlement {
  return { id: event.id, createdAt: event.createdAt, state: 'pending', attempts, lastError, delayMs };
}
