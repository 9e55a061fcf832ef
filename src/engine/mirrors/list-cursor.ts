import { createHash } from 'node:crypto';
import { uuidText } from '#core/platform/id.ts';
import { type Instant, isInstant } from '#core/platform/instant.ts';

/** The position in a list: the last row shown, and the number of the page that comes after it. */
export interface ListPosition {
  /** The amount of that row, in a list that is sorted by an amount. */
  readonly amount?: bigint | undefined;
  readonly createdAt: Instant;
  readonly id: string;
  readonly page: number;
}

/** The first byte of a cursor. A later layout gets another number, and older cursors are refused. */
const layout = 1;
/** The same, followed by an amount. */
const layoutWithAmount = 2;
const createdAtAt = 1;
const idAt = 9;
const pageAt = 25;
const amountAt = 29;
const amountBytes = 8;
/** 128 bits detect every accidental change. */
const checksumBytes = 16;
const pageMax = 0xffff_ffff;

/**
 * Writes a cursor. `query` is the list and its filters: the checksum covers it, so that a cursor is accepted only for
 * its own query. The cursor contains no values of the query. See docs/decisions/0022-lists.md.
 */
export function encodeCursor({ amount, createdAt, id, page }: ListPosition, query: string): string {
  const bytes = Buffer.alloc(amount === undefined ? amountAt : amountAt + amountBytes);
  bytes.writeUInt8(amount === undefined ? layout : layoutWithAmount, 0);
  if (amount !== undefined) bytes.writeBigInt64BE(amount, amountAt);
  bytes.writeBigInt64BE(createdAt, createdAtAt);
  bytes.write(id.replaceAll('-', ''), idAt, 'hex');
  bytes.writeUInt32BE(Math.min(page, pageMax), pageAt);
  return Buffer.concat([bytes, checksum(bytes, query)]).toString('base64url');
}

/** Reads a cursor. Undefined if it was changed, or belongs to another query. */
export function decodeCursor(cursor: string, query: string): ListPosition | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  // Node skips characters that are not base64url, so several texts give the same bytes. Only the canonical one is
  // accepted.
  const hasAmount = bytes[0] === layoutWithAmount;
  const checksumAt = hasAmount ? amountAt + amountBytes : amountAt;
  if (bytes.length !== checksumAt + checksumBytes || bytes.toString('base64url') !== cursor) return undefined;
  const position = bytes.subarray(0, checksumAt);
  if (!checksum(position, query).equals(bytes.subarray(checksumAt))) return undefined;
  const createdAt = bytes.readBigInt64BE(createdAtAt);
  const page = bytes.readUInt32BE(pageAt);
  // The checksum has no secret, so a caller can compute it for any position. Every field must still be usable in SQL.
  if ((bytes[0] !== layout && !hasAmount) || !isInstant(createdAt) || page < 1) return undefined;
  const place = { createdAt, id: uuidText(bytes.subarray(idAt, pageAt)), page };
  return hasAmount ? { ...place, amount: bytes.readBigInt64BE(amountAt) } : place;
}

/** The first byte of a cursor that contains an id of the processor. */
const layoutOfText = 3;

/** A cursor of a list that the processor keeps: the id after which the next page starts. */
export function encodeTextCursor(id: string, query: string): string {
  const bytes = Buffer.concat([Buffer.from([layoutOfText]), Buffer.from(id)]);
  return Buffer.concat([bytes, checksum(bytes, query)]).toString('base64url');
}

export function decodeTextCursor(cursor: string, query: string): string | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes[0] !== layoutOfText || bytes.toString('base64url') !== cursor) return undefined;
  const [start, end] = [bytes.subarray(0, -checksumBytes), bytes.subarray(-checksumBytes)];
  const id = start.subarray(1).toString();
  // A caller can compute the checksum of any text.
  return checksum(start, query).equals(end) && /^[!-~]+$/.test(id) ? id : undefined;
}

function checksum(position: Buffer, query: string): Buffer {
  return createHash('sha256').update(position).update(query).digest().subarray(0, checksumBytes);
}
