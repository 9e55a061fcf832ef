const prefix = 'evt_';
/** Six bytes of time and six of position, in base64: 16 characters without padding. */
const pattern = /^evt_[\w-]{16}$/;
const partBytes = 6;

/** Where an event is: its place in the feed, and its time, which selects the partition of the table. */
export interface EventPlace {
  readonly position: number;
  readonly createdAtMs: number;
}

/**
 * The id of an event. It contains the event's place, so that no index by id is needed, and its time shows whether an event
 * that is no longer there has expired or never existed. Readers must not parse it: the format may change.
 */
export function eventId({ position, createdAtMs }: EventPlace): string {
  const bytes = Buffer.alloc(2 * partBytes);
  bytes.writeUIntBE(createdAtMs, 0, partBytes);
  bytes.writeUIntBE(position, partBytes, partBytes);
  return prefix + bytes.toString('base64url');
}

/** Undefined if the text is not the id of an event. Whether the event exists, only the table knows. */
export function parseEventId(id: string): EventPlace | undefined {
  if (!pattern.test(id)) return undefined;
  const bytes = Buffer.from(id.slice(prefix.length), 'base64url');
  return { createdAtMs: bytes.readUIntBE(0, partBytes), position: bytes.readUIntBE(partBytes, partBytes) };
}
