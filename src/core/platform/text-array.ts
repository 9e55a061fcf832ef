/** The header of a one-dimensional array: dimensions, whether it has nulls, the type, the length, the lower bound. */
const headerBytes = 20;
const lengthBytes = 4;
/** The OID of `text`, which is the same in every database. */
const textType = 25;
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
  array.writeInt32BE(textType, 8);
  array.writeInt32BE(texts.length, 12);
  array.writeInt32BE(1, 16);
  let offset = headerBytes;
  for (const [index, text] of texts.entries()) {
    offset = array.writeInt32BE(lengths[index] ?? nullLength, offset);
    if (text !== null) offset += array.write(text, offset);
  }
  return array;
}
