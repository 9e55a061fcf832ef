export const webhookEventStates = ['pending', 'processed', 'ignored', 'failed'] as const;

export type WebhookEventState = (typeof webhookEventStates)[number];

/** An event in the inbox. */
export interface WebhookEvent {
  readonly id: string;
  readonly type: string;
  readonly objectId: string | null;
  readonly createdAt: Date;
  readonly apiVersion: string | null;
  readonly payload: string;
  readonly state: WebhookEventState;
  readonly attempts: number;
  readonly nextTryAt: Date;
  readonly lastError: string | null;
  readonly receivedAt: Date;
  /** When it first took effect. A replay does not change it. */
  readonly processedAt: Date | null;
}

/** What is needed of an event to apply it and to record the outcome. */
export type EventToApply = Pick<
  WebhookEvent,
  'id' | 'type' | 'objectId' | 'createdAt' | 'attempts' | 'receivedAt'
>;

/** The states in which new events were stored, by their ids. */
export type StoredStates = ReadonlyMap<string, WebhookEventState>;

/** The outcome of processing an event. */
export interface Settlement
  extends Pick<WebhookEvent, 'id' | 'createdAt' | 'state' | 'attempts' | 'lastError'> {
  /** The delay before the next attempt of a pending event. */
  readonly delayMs: number;
}

/** About five hours in total: longer than a deployment, a failover and most outages of the processor. */
export const attemptsMax = 24;
const retryDelayMs = 1_000;
const retryDelayMsMax = 1_800_000;

/** Exponential backoff. Half of the delay is random. */
export function retryAfterMs(attempts: number, random: number): number {
  const delayMs = Math.min(retryDelayMs * 2 ** (attempts - 1), retryDelayMsMax);
  return Math.round(delayMs * (0.5 + random / 2));
}

/** The events that wait to be processed, or for an operator. */
export interface WebhookBacklog {
  readonly pending: number;
  readonly failed: number;
  /** How long the oldest due event has been due. Null if none is due. */
  readonly lagSeconds: number | null;
  /** Null if none is pending. */
  readonly oldestPendingSeconds: number | null;
}
