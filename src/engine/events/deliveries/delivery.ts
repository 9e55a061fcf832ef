import type { WalkRequest } from '../../mirrors/id-cursor.ts';

export const deliveryStatuses = ['pending', 'succeeded', 'failed'] as const;

export type DeliveryStatus = (typeof deliveryStatuses)[number];

export interface DeliveryWalkRequest extends WalkRequest {
  readonly status?: DeliveryStatus | undefined;
}

/** One event at one endpoint, as the list of deliveries shows it. */
export interface Delivery {
  readonly id: string;
  readonly endpointId: string;
  /** These three are null if the event is no longer kept. */
  readonly eventType: string | null;
  readonly objectType: string | null;
  readonly objectId: string | null;
  readonly customerId: string | null;
  readonly position: number;
  readonly eventCreatedAt: Date;
  /** From the event's id. */
  readonly checksum: number;
  /** The number of attempts so far. */
  readonly attempt: number;
  readonly status: DeliveryStatus;
  /** The status of the last attempt. Null if there was no response. */
  readonly responseStatus: number | null;
  readonly responseBody: string | null;
  readonly durationMs: number | null;
  readonly createdAt: Date;
  readonly nextAttemptAt: Date | null;
}

/** The result of an attempt. */
export interface DeliveryOutcome {
  readonly succeeded: boolean;
  readonly responseStatus: number | null;
  /** The beginning of the response. If nothing was sent, the reason. */
  readonly responseBody: string | null;
  readonly durationMs: number;
  /** Why there was no complete response, for the log. */
  readonly error: string | null;
}

const retryDelayMsDefault = 5_000;
/** Short enough that an endpoint that works again gets its events on the same day, without help by an operator. */
const retryDelayMsMax = 4 * 3_600_000;

/**
 * The delay after a failed attempt. It doubles each time. Random jitter spreads the load on an endpoint that works
 * again.
 */
export function retryDelayAfter(attempt: number, random: number, retryDelayMs = retryDelayMsDefault): number {
  const delayMs = Math.min(retryDelayMsMax, retryDelayMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(delayMs * (0.5 + random / 2));
}

/** How much of a response is kept. */
export const responseBytesMax = 1_024;

/** The beginning of a response as text, without NUL, which PostgreSQL does not accept. Null if it is empty. */
export function responseText(bytes: Buffer): string | null {
  // A character that is cut off at the end is left out.
  const text = new TextDecoder().decode(bytes.subarray(0, responseBytesMax), { stream: true });
  return text === '' ? null : text.replaceAll('\0', '\ufffd');
}
