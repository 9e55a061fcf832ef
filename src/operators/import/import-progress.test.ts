import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addCounts,
  chargesKnownUntil,
  countsOf,
  countsOfStage,
  type ImportProgress,
  newStage,
  noCounts,
  restarted,
  withStage,
} from './import-progress.ts';

const now = new Date('2026-11-16T06:00:00Z');

test('a charge that was adopted before the list of payments shows it counts as adopted there', () => {
  const charges = { ...newStage('charge', now), counts: { ...noCounts, adopted: 3 } };
  const payments = {
    ...newStage('payment', now),
    counts: { ...noCounts, found: 5, adopted: 1, unchanged: 4 },
  };
  assert.deepEqual(countsOf([charges, payments]), [
    { kind: 'payment', found: 5, adopted: 4, updated: 0, unchanged: 1, skipped: 0 },
  ]);
});

test('an object that was adopted before its list shows it counts as found until then', () => {
  const charges = { ...newStage('charge', now), counts: { ...noCounts, adopted: 9 } };
  const ahead = { kind: 'payment', found: 9, adopted: 9, updated: 0, unchanged: 0, skipped: 0 };
  assert.deepEqual(countsOfStage([charges], 'charge'), ahead);
  const begun = newStage('payment', now);
  assert.deepEqual(countsOfStage([charges, begun], 'payment'), ahead);
  const page = { ...begun, counts: { ...noCounts, found: 5, adopted: 1, unchanged: 3, skipped: 1 } };
  assert.deepEqual(countsOfStage([charges, page], 'payment'), {
    ...ahead,
    found: 11,
    adopted: 10,
    skipped: 1,
  });
  const [end] = countsOf([charges, { ...page, isDone: true }]);
  assert.deepEqual(end, { ...ahead, found: 5, adopted: 4, skipped: 1 });
});

test('a list that starts over keeps what it has adopted', () => {
  const first = {
    ...newStage('customer', now),
    cursor: 'cus_1',
    counts: { ...noCounts, found: 100, adopted: 100 },
  };
  const again = restarted(restarted(first, now), now);
  assert.deepEqual([again.cursor, again.counts, again.adoptedBefore], [null, noCounts, 100]);
  const counts = addCounts(again.counts, { ...noCounts, found: 150, adopted: 50, unchanged: 100 });
  assert.deepEqual(countsOf([{ ...again, counts }]), [
    { kind: 'customer', found: 150, adopted: 150, updated: 0, unchanged: 0, skipped: 0 },
  ]);
});

test('external ids are counted apart from their customers', () => {
  const customers = { ...newStage('customer', now), counts: { ...noCounts, found: 2, adopted: 2 } };
  const progress: ImportProgress = withStage([customers], {
    ...newStage('external_id', now),
    counts: { ...noCounts, found: 2, adopted: 1, skipped: 1 },
  });
  assert.deepEqual(
    countsOf(progress).map(({ kind, adopted, skipped }) => [kind, adopted, skipped]),
    [
      ['customer', 2, 0],
      ['external_id', 1, 1],
    ],
  );
});

test('the list of charges has every charge of the listed invoices, unless one could not be read', () => {
  const invoices = newStage('invoice', now);
  const charges = newStage('charge', new Date(now.getTime() + 3_600_000));
  assert.equal(chargesKnownUntil([invoices]), null);
  assert.deepEqual(chargesKnownUntil([invoices, charges]), now);
  const failed = { ...charges, counts: { ...noCounts, adopted: 7, skipped: 1 } };
  assert.deepEqual(chargesKnownUntil([invoices, failed]), new Date(0));
  assert.deepEqual(chargesKnownUntil([invoices, restarted(failed, now)]), now);
});
