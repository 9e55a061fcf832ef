import { createHash, randomUUID } from 'node:crypto';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const version7Pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The end of the year 9999: JSON and PostgreSQL write later times differently. */
const idTimeMsMax = 253_402_300_799_999;

/** A new UUIDv7: 48 bits of time, so that ids sort and index in creation order, then 74 random bits. */
export function newId(now: Date): string {
  const time = now.getTime().toString(16).padStart(12, '0');
  // Node has the random bits of a UUIDv4 in store. Only its time and its version differ.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice('xxxxxxxx-xxxx-4'.length)}`;
}

/**
 * The id of a row for an object that Till did not create and that therefore carries no Till id. It is a UUIDv7 derived
 * from the processor's id and creation time, so a row that is lost and recovered gets the same id again.
 */
export function derivedId(kind: string, processorId: string, createdAt: Date): string {
  const digest = createHash('sha256').update(`${kind}:${processorId}`).digest();
  return toVersion7(digest.subarray(0, 16), createdAt);
}

function toVersion7(bytes: Buffer, time: Date): string {
  bytes.writeUIntBE(time.getTime(), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidText(bytes);
}

/** Writes 16 bytes as a UUID. */
export function uuidText(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Whether the text can be compared with a column of ids. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/** Whether the text can be a Till id. Metadata may contain any other text. */
export function isOurId(text: string | null): text is string {
  return text !== null && version7Pattern.test(text) && idTime(text).getTime() <= idTimeMsMax;
}

/** The creation time of a Till id: the request and the webhook, whichever writes the row first, use the same time. */
export function idTime(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}
