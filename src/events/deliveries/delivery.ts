export const deliveryStatuses = ['pending', 'succeeded', 'failed'] as const;

/** An event at an endpoint, as the list of deliveries shows it. */
export interface Delivery {
  readonly id: string;
  readonly position: number;
  readonly eventCreatedAt: Date;
  /** Of the event's id. */
  readonly checksum: number;
  /** The number of attempts so far. */
  readonly attempt: number;
  readonly status: (typeof deliveryStatuses)[number];
  /** Of the last attempt. Null if there was no response. */
  readonly responseStatus: number | null;
  readonly responseBody: string | null;
  readonly durationMs: number | null;
  readonly createdAt: Date;
  readonly nextAttemptAt: Date | null;
}

/** What came of an attempt. */
export interface Outcome {
  readonly succeeded: boolean;
  readonly responseStatus: number | null;
  /** Also why nothing was sent. */
  readonly responseBody: string | null;
  readonly durationMs: number;
  /** Why there was no complete response, for the log. */
  readonly error: string | null;
}

const retryDelayMs = 5_000;
/** Short enough that an endpoint which is repaired gets its events the same day, without help. */
const retryDelayMsMax = 4 * 3_600_000;

/** The delay after a failed attempt: it doubles each time, and random jitter spreads the load on an endpoint that is back. */
export function retryDelayAfter(attempt: number, random: number): number {
  const delayMs = Math.min(retryDelayMsMax, retryDelayMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(delayMs * (0.5 + random / 2));
}

/** How much of a response is kept. */
export const responseBytesMax = 1_024;

/** The beginning of a response as text. It may contain anything; PostgreSQL does not accept NUL. Null if it is empty. */
export function responseText(bytes: Buffer): string | null {
  // A character that is cut at the end is left out.
  const text = new TextDecoder().decode(bytes.subarray(0, responseBytesMax), { stream: true });
  return text === '' ? null : text.replaceAll('\0', '\ufffd');
}
