import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../../test/support/seeds.ts';
import { decodeCursor, decodeTextCursor, encodeCursor, encodeTextCursor } from './list-cursor.ts';

const query = '["payments",[["status","succeeded"]]]';
const positions = fc.record({
  createdAt: fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n }),
  id: fc.uuid(),
  page: fc.integer({ min: 1, max: 0xffff_ffff }),
});
const positionsByAmount = fc
  .tuple(positions, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))
  .map(([position, amount]) => ({ ...position, amount }));

test('a cursor gives back its position, to the microsecond', async () => {
  await assertProperty(
    fc.property(positions, fc.string(), (position, text) => {
      const cursor = encodeCursor(position, text);
      assert.match(cursor, /^[\w-]{60}$/);
      assert.deepEqual(decodeCursor(cursor, text), { ...position });
    }),
  );
  await assertProperty(
    fc.property(positionsByAmount, fc.string(), (position, text) => {
      assert.deepEqual(decodeCursor(encodeCursor(position, text), text), { ...position });
    }),
  );
});

test('a cursor of a list of the processor gives back its id, and is refused if it was changed', () => {
  const cursor = encodeTextCursor('il_1MtHbELkdIwHu7ixl4OzzPMv', query);
  assert.equal(decodeTextCursor(cursor, query), 'il_1MtHbELkdIwHu7ixl4OzzPMv');
  assert.equal(decodeCursor(cursor, query), undefined);
  for (const other of ['', 'A', `${cursor}A`, cursor.slice(1), cursor.slice(0, -1), cursor.toUpperCase()])
    assert.equal(decodeTextCursor(other, query), undefined);
  assert.equal(decodeTextCursor(cursor, `${query} `), undefined);
  for (const forged of ['', 'il_1\n', 'é'])
    assert.equal(decodeTextCursor(encodeTextCursor(forged, query), query), undefined);
});

test('a cursor with any character changed, added or removed is refused', () => {
  const cursor = encodeCursor(
    { createdAt: 1_763_199_000_123_456n, id: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90', page: 2 },
    query,
  );
  for (let index = 0; index < cursor.length; index += 1) {
    const [before, after] = [cursor.slice(0, index), cursor.slice(index + 1)];
    for (const character of 'AZaz09-_+/=. \n\0é') {
      if (character !== cursor[index])
        assert.equal(decodeCursor(before + character + after, query), undefined);
      assert.equal(decodeCursor(before + character + cursor.slice(index), query), undefined);
    }
    assert.equal(decodeCursor(before + after, query), undefined);
    assert.equal(decodeCursor(before, query), undefined);
  }
  for (const text of [`${cursor}=`, `${cursor}A`, cursor + cursor, cursor.toUpperCase(), ''])
    assert.equal(decodeCursor(text, query), undefined);
});

test('a cursor is refused for any query but its own', async () => {
  await assertProperty(
    fc.property(positions, fc.string(), fc.string(), (position, own, other) => {
      fc.pre(own !== other);
      assert.equal(decodeCursor(encodeCursor(position, own), other), undefined);
    }),
  );
});

test('a forged cursor with a right checksum is a position that PostgreSQL accepts, or is refused', () => {
  const forge = (layout: number, createdAt: bigint, page: number) => {
    const bytes = Buffer.alloc(29);
    bytes.writeUInt8(layout, 0);
    bytes.writeBigInt64BE(createdAt, 1);
    bytes.writeUInt32BE(page, 25);
    const checksum = createHash('sha256').update(bytes).update(query).digest().subarray(0, 16);
    return Buffer.concat([bytes, checksum]).toString('base64url');
  };
  assert.notEqual(decodeCursor(forge(1, 0n, 1), query), undefined);
  assert.equal(decodeCursor(forge(2, 0n, 1), query), undefined);
  assert.equal(decodeCursor(forge(1, 0n, 0), query), undefined);
  for (const micros of [2n ** 63n - 1n, -(2n ** 63n), 253_402_300_800_000_000n, -62_135_596_800_000_001n])
    assert.equal(decodeCursor(forge(1, micros, 1), query), undefined);
});
