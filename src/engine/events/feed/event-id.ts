const prefix = 'evt_';
/** Six bytes each of time, position and checksum, in base64: 24 characters without padding. */
const pattern = /^evt_[\w-]{24}$/;
const partBytes = 6;
/** The bytes of the id that is being written. A new buffer for each event would cost more than the rest. */
const bytes = Buffer.alloc(3 * partBytes);
/** The end of the year 9999: JSON and PostgreSQL write later times differently. */
const timeMsMax = 253_402_300_799_999;

/** A position, and the history of the database in which it was read: see `till.history`. */
export interface FeedPoint {
  readonly position: number;
  readonly history: number;
}

/** Where a reader begins, and the horizon of that time. Undefined if it has not been read. */
export interface FeedStart extends FeedPoint {
  readonly end: FeedPoint | undefined;
}

/** Where an event is: its position in the feed, and its time, which selects the partition of the table. */
export interface EventPlace {
  readonly position: number;
  readonly createdAtMs: number;
  /** Proves that Till created the id. See `till.event_checksum`. */
  readonly checksum: number;
}

/**
 * The id of an event. It contains the event's position, so that no index by id is needed, and its time, which shows
 * whether a missing event has expired. Readers must not parse it: the format may change.
 */
export function eventId({ position, createdAtMs, checksum }: EventPlace): string {
  bytes.writeUIntBE(createdAtMs, 0, partBytes);
  bytes.writeUIntBE(position, partBytes, partBytes);
  bytes.writeUIntBE(checksum, 2 * partBytes, partBytes);
  return prefix + bytes.toString('base64url');
}

/** Undefined if the text is not the id of an event. Only the database can verify the checksum. */
export function parseEventId(id: string): EventPlace | undefined {
  if (!pattern.test(id)) return undefined;
  bytes.write(id.slice(prefix.length), 'base64url');
  const createdAtMs = bytes.readUIntBE(0, partBytes);
  if (createdAtMs > timeMsMax) return undefined;
  const position = bytes.readUIntBE(partBytes, partBytes);
  return { createdAtMs, position, checksum: bytes.readUIntBE(2 * partBytes, partBytes) };
}
