/** The header of a one-dimensional array: dimensions, whether it has nulls, the type, the length, the lower bound. */
const headerBytes = 20;
const lengthBytes = 4;
/** The OIDs of the types, which are the same in every database. */
const types = { bigint: 20, text: 25, uuid: 2950, timestamptz: 1184 };
const nullLength = -1;

/**
 * Texts as a parameter of type `text[]`, in PostgreSQL's binary format. The driver would write an array as text and
 * escape every quote of every element, and PostgreSQL would remove the escapes again. Payloads are full of quotes.
 */
export function textArray(texts: readonly (string | null)[]): Buffer {
  const lengths = texts.map((text) => (text === null ? nullLength : Buffer.byteLength(text)));
  const contentBytes = lengths.reduce((sum, length) => sum + lengthBytes + Math.max(length, 0), 0);
  const array = Buffer.allocUnsafe(headerBytes + contentBytes);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(1, 4);
  array.writeInt32BE(types.text, 8);
  array.writeInt32BE(texts.length, 12);
  array.writeInt32BE(1, 16);
  let offset = headerBytes;
  for (const [index, text] of texts.entries()) {
    offset = array.writeInt32BE(lengths[index] ?? nullLength, offset);
    if (text !== null) offset += array.write(text, offset);
  }
  return array;
}

/** PostgreSQL counts microseconds from 2000 on. */
const microsOf2000 = BigInt(Date.UTC(2000, 0)) * 1_000n;

/**
 * Integers as a parameter of type `bigint[]`, in PostgreSQL's binary format. The driver would write each as quoted
 * text, which PostgreSQL parses again. A batch has thousands of values.
 */
export function bigintArray(integers: readonly number[]): Buffer {
  return fixedArray(types.bigint, 8, integers, (array, integer, offset) => {
    // In two halves, which is faster than a conversion to `bigint`.
    array.writeInt32BE(Math.floor(integer / 2 ** 32), offset);
    array.writeUInt32BE(integer >>> 0, offset + 4);
  });
}

/** Likewise for `uuid[]`. The ids have the canonical form, with upper or lower case. */
export function uuidArray(ids: readonly string[]): Buffer {
  return fixedArray(types.uuid, 16, ids, (array, id, offset) => {
    // Digit by digit, which is faster than a text without hyphens and its conversion.
    for (let byte = 0, place = 0; byte < 16; byte += 1, place += 2) {
      if (byte === 4 || byte === 6 || byte === 8 || byte === 10) place += 1;
      array[offset + byte] = (digitAt(id, place) << 4) | digitAt(id, place + 1);
    }
  });
}

/** Likewise for `timestamptz[]`, from microseconds since 1970. */
export function timestampArray(instants: readonly bigint[]): Buffer {
  return fixedArray(types.timestamptz, 8, instants, (array, instant, offset) =>
    array.writeBigInt64BE(instant - microsOf2000, offset),
  );
}

/** The value of a hexadecimal digit. The codes of letters have a bit that those of numerals lack. */
function digitAt(id: string, place: number): number {
  const code = id.charCodeAt(place);
  return (code & 15) + (code >> 6) * 9;
}

function fixedArray<Value>(
  type: number,
  bytes: number,
  values: readonly Value[],
  write: (array: Buffer, value: Value, offset: number) => void,
): Buffer {
  // The buffer is filled with zeros, so that a malformed value cannot send what the memory contained before.
  const array = Buffer.alloc(headerBytes + values.length * (lengthBytes + bytes));
  array.writeInt32BE(1, 0);
  array.writeInt32BE(type, 8);
  array.writeInt32BE(values.length, 12);
  array.writeInt32BE(1, 16);
  let offset = headerBytes;
  for (const value of values) {
    array.writeInt32BE(bytes, offset);
    write(array, value, offset + lengthBytes);
    offset += lengthBytes + bytes;
  }
  return array;
}
