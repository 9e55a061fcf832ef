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
  /** When it first took effect; a replay leaves it. */
  readonly processedAt: Date | null;
}

/** What became of an event that was worked on. */
export interface Settlement {
  readonly id: string;
  readonly createdAt: Date;
  readonly state: WebhookEventState;
  readonly attempts: number;
  readonly lastError: string | null;
  /** How long a pending one waits for its next try. */
  readonly delayMs: number;
}

/** In all about five hours, which outlasts a deployment, a failover and most outages of the processor. */
export const attemptsMax = 24;
const retryDelayMs = 1_000;
const retryDelayMsMax = 1_800_000;

/** How long to wait after this many failed attempts: twice as long each time, and half of it by chance. */
export function retryAfterMs(attempts: number, random: number): number {
  const delayMs = Math.min(retryDelayMs * 2 ** (attempts - 1), retryDelayMsMax);
  return Math.round(delayMs * (0.5 + random / 2));
}
