import { createHash } from 'node:crypto';
import { uuidText } from '../platform/id.ts';
import { type Instant, isInstant } from '../platform/instant.ts';

/** The position in a list: the last row shown, and the number of the page that comes after it. */
export interface Position {
  readonly createdAt: Instant;
  readonly id: string;
  readonly page: number;
}

/** The first byte of a cursor. A later layout gets another number, and older cursors are refused. */
const layout = 1;
const createdAtAt = 1;
const idAt = 9;
const pageAt = 25;
const checksumAt = 29;
/** 128 bits detect every accidental change. A cursor then has 45 bytes, which need no padding in base64url. */
const checksumBytes = 16;
const pageMax = 0xffff_ffff;

/**
 * Writes a cursor. `query` is the list and its filters: the checksum covers it, so that a cursor is accepted only for
 * its own query. The cursor contains no values of the query. See docs/decisions/0017-cursors.md.
 */
export function encodeCursor({ createdAt, id, page }: Position, query: string): string {
  const bytes = Buffer.alloc(checksumAt);
  bytes.writeUInt8(layout, 0);
  bytes.writeBigInt64BE(createdAt, createdAtAt);
  bytes.write(id.replaceAll('-', ''), idAt, 'hex');
  bytes.writeUInt32BE(Math.min(page, pageMax), pageAt);
  return Buffer.concat([bytes, checksum(bytes, query)]).toString('base64url');
}

/** Reads a cursor. Undefined if it was changed, or belongs to another query. */
export function decodeCursor(cursor: string, query: string): Position | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  // Node skips characters that are not base64url, so several texts give the same bytes. Only the canonical one is
  // accepted.
  if (bytes.length !== checksumAt + checksumBytes || bytes.toString('base64url') !== cursor) return undefined;
  const position = bytes.subarray(0, checksumAt);
  if (!checksum(position, query).equals(bytes.subarray(checksumAt))) return undefined;
  const createdAt = bytes.readBigInt64BE(createdAtAt);
  const page = bytes.readUInt32BE(pageAt);
  // The checksum has no secret, so a caller can compute it for any position. Every field must still be usable in SQL.
  if (bytes[0] !== layout || !isInstant(createdAt) || page < 1) return undefined;
  return { createdAt, id: uuidText(bytes.subarray(idAt, pageAt)), page };
}

function checksum(position: Buffer, query: string): Buffer {
  return createHash('sha256').update(position).update(query).digest().subarray(0, checksumBytes);
}
