import { randomFillSync } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62 does not divide 256. Bytes from this value on are discarded, so every character is equally likely. */
const byteLimit = 256 - (256 % alphabet.length);
/** One call for random bytes serves a few hundred ids. A call for each id would dominate its cost. */
const pool = new Uint8Array(8_192);
let used = pool.length;

type NewId = (prefix: string, length?: number) => string;

/** 24 characters give 143 bits, so ids and secrets cannot be guessed and do not collide. */
export const newId: NewId = (prefix, length = 24) => {
  let id = prefix;
  for (let count = 0; count < length; ) {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const byte = pool[used++] ?? byteLimit;
    if (byte >= byteLimit) continue;
    id += alphabet[byte % alphabet.length];
    count += 1;
  }
  return id;
};
