import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../../test/support/seeds.ts';
import { formatPosition, includes, laterOf, parsePosition } from './position.ts';

const positions = fc.record({
  history: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  lsn: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
});

test('a text gives back its position, and of one history the later text is the greater one', async () => {
  await assertProperty(
    fc.property(positions, positions, (one, { lsn }) => {
      assert.deepEqual(parsePosition(formatPosition(one)), { ...one });
      const other = { ...one, lsn };
      assert.equal(formatPosition(one) > formatPosition(other), one.lsn > lsn);
    }),
  );
});

test('any other text is no position', () => {
  const text = formatPosition({ history: 1, lsn: 2n });
  for (const other of ['', '-', `${text} `, `${text}0`, text.slice(1), text.replace('-', ''), `${text}\n`])
    assert.equal(parsePosition(other), undefined, JSON.stringify(other));
});

test('positions of two histories have no order', () => {
  const [early, late, other] = [
    { history: 1, lsn: 2n },
    { history: 1, lsn: 3n },
    { history: 2, lsn: 9n },
  ];
  assert.deepEqual(
    [includes(late, early), includes(early, early), includes(early, late)],
    [true, true, false],
  );
  assert.deepEqual([includes(other, early), includes(early, other)], [false, false]);
  assert.deepEqual([laterOf(early, late), laterOf(late, early)], [late, late]);
  assert.equal(laterOf(early, other), undefined);
});
