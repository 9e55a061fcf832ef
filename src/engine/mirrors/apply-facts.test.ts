import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Transaction } from '#core/platform/postgres.ts';
import { WrittenRows } from '#core/platform/written-rows.ts';
import { applyToRows, lockRows, type RowStore, withRecovery } from './apply-facts.ts';

interface Row {
  readonly key: string;
  readonly value: number;
  readonly revision: number;
  readonly updatedAt: Date;
}

type Facts = Pick<Row, 'key' | 'value'>;

const keyOf = ({ key }: Facts) => key;

function row(key: string, value: number): Row {
  return { key, value, revision: 0, updatedAt: new Date(value) };
}

/** Applies facts to a table in memory that creates rows for keys in `creatable`. */
async function apply(table: Map<string, Row>, facts: readonly Facts[], creatable: readonly string[]) {
  const written: Row[] = [];
  const store: RowStore<Row> = {
    lockByKeys: async (_, keys) => keys.flatMap((key) => table.get(key) ?? []),
    update: (_, changes) => void written.push(...changes.map(({ after }) => after)),
  };
  const rows = await lockRows(tx, store, facts, keyOf);
  const created = rows.unknown
    .filter(({ key }) => creatable.includes(key))
    .map(({ key, value }) => row(key, value));
  for (const one of created) table.set(one.key, one);
  const lost = rows.unknown.map(keyOf).filter((key) => key.startsWith('lost'));
  const { applied } = await applyToRows<Row, Facts>(tx, store, {
    rows,
    inserted: { created, lost },
    source: 'events',
    keyOf,
    take: (before, { value }) => ({
      verdict: value > before.value ? 'take' : 'keep',
      row: { ...before, value, updatedAt: new Date(value) },
    }),
    view: (shown) => shown,
    now: new Date(),
  });
  return { applied, written, seen: rows.unknown };
}

/** The table in memory needs no database. */
const tx: Transaction = {
  query: () => assert.fail('no statement is expected'),
  send: () => assert.fail('no statement is expected'),
  afterCommit: () => assert.fail('no hook is expected'),
  written: new WrittenRows(),
  late: [],
};

test('a row is created from the first facts of an object without one, and the others are folded into it', async () => {
  const table = new Map([['a', row('a', 1)]]);
  const facts = [
    { key: 'a', value: 2 },
    { key: 'b', value: 1 },
    { key: 'b', value: 3 },
    { key: 'x', value: 1 },
  ];
  const { applied, written, seen } = await apply(table, facts, ['b']);
  assert.deepEqual(seen, [facts[1], facts[3]]);
  assert.deepEqual(
    written.map(({ key, value }) => [key, value]),
    [
      ['a', 2],
      ['b', 3],
    ],
  );
  assert.deepEqual(applied, { changed: ['a', 'b'], ignored: ['x'], unsettled: [] });
});

test('a lost object is refreshed instead of being ignored', async () => {
  const { applied } = await apply(new Map(), [{ key: 'lost 1', value: 1 }], []);
  assert.deepEqual(applied, { changed: [], ignored: [], unsettled: ['lost 1'] });
});

test('lost objects do not count as ignored, and created rows count as changed once', () => {
  const applied = { changed: ['a'], ignored: ['b', 'c'], unsettled: ['d'] };
  assert.deepEqual(withRecovery(applied, { created: ['a', 'e'], lost: ['c', 'd'] }), {
    changed: ['a', 'e'],
    ignored: ['b'],
    unsettled: ['d', 'c'],
  });
});
