import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../../test/support/seeds.ts';
import { type AsOf, asOfEvent, laterOf } from './facts.ts';
import { foldFacts, type Source } from './fold.ts';
import { judge, type Origin } from './transition.ts';

/** A minimal mirror: an open or final value and its time. */
interface Row {
  readonly key: string;
  readonly value: string;
  readonly asOf: AsOf;
  readonly revision: number;
  readonly updatedAt: Date;
}

const keyOf = ({ key }: Row) => key;
const isFinal = ({ value }: Row) => value === 'paid';

function take(row: Row, facts: Row, origin: Origin) {
  const rule = isFinal(row) ? 'never' : isFinal(facts) ? 'always' : 'if newer';
  const isSame = row.value === facts.value;
  const verdict = judge({ rule, origin, isSame, rowAsOf: row.asOf, factsAsOf: facts.asOf });
  const updatedAt = isSame ? row.updatedAt : facts.updatedAt;
  return { verdict, row: { ...facts, asOf: laterOf(row.asOf, facts.asOf), updatedAt } };
}

function fact(key: string, value: string, second: number): Row {
  const at = new Date(second * 1_000);
  return { key, value, asOf: asOfEvent(at), revision: 0, updatedAt: at };
}

function fold(rows: readonly Row[], facts: readonly Row[], source: Source = 'events') {
  const groups = Map.groupBy(facts, keyOf);
  return foldFacts({ rows, groups, source, keyOf, take, view, now: new Date() });
}

/** Values in parentheses are not shown. */
function view({ key, value, updatedAt }: Row) {
  return { key, state: value.replace(/\(.*\)/, ''), updatedAt };
}

test('a row whose change is not shown keeps the time of its last change, and still counts as changed', () => {
  const row = fact('a', 'open (once)', 1);
  const { written, applied } = fold([row], [fact('a', 'open (twice)', 2)]);
  assert.deepEqual(
    written.map(({ after }) => [after.value, after.updatedAt]),
    [['open (twice)', row.updatedAt]],
  );
  assert.deepEqual(applied.changed, ['a']);
});

test("each object's facts are folded into its own row, and only rows that changed are written", () => {
  const [a, b] = [fact('a', 'draft', 1), fact('b', 'draft', 1)];
  const { written, applied } = fold(
    [a, b],
    [fact('b', 'draft', 1), fact('a', 'open', 2), fact('a', 'paid', 3)],
  );
  assert.deepEqual(written, [{ before: a, after: fact('a', 'paid', 3) }]);
  assert.deepEqual(applied, { changed: ['a'], unsettled: [], ignored: [] });
});

test('facts about an object without a row are ignored', () => {
  const { written, applied } = fold([], [fact('x', 'open', 1), fact('x', 'paid', 2), fact('y', 'open', 1)]);
  assert.deepEqual(written, []);
  assert.deepEqual(applied, { changed: [], unsettled: [], ignored: ['x', 'y'] });
});

test('two different values of the same second stay unsettled and do not change the row', () => {
  const row = fact('a', 'draft', 5);
  for (const facts of [
    [fact('a', 'open', 5)],
    [fact('a', 'open', 5), fact('a', 'draft', 5)],
    [fact('a', 'open', 5), fact('a', 'other', 4)],
  ]) {
    const { written, applied } = fold([row], facts);
    assert.deepEqual(written, []);
    assert.deepEqual(applied, { changed: [], unsettled: ['a'], ignored: [] });
  }
});

test('a newer or final value settles an earlier tie', () => {
  for (const last of [fact('a', 'open', 6), fact('a', 'paid', 1)]) {
    const { written, applied } = fold([fact('a', 'draft', 5)], [fact('a', 'open', 5), last]);
    assert.equal(written[0]?.after.value, last.value);
    assert.deepEqual(applied.unsettled, []);
  }
});

test('a response is applied only if the row still has the revision from before the request', () => {
  const row = { ...fact('a', 'draft', 5), revision: 7 };
  const response = [fact('a', 'open', 1)];
  assert.equal(fold([row], response, new Map([['a', 7]])).written[0]?.after.value, 'open');
  for (const revisions of [new Map([['a', 6]]), new Map([['b', 7]])]) {
    const { written, applied } = fold([row], response, revisions);
    assert.deepEqual(written, []);
    assert.deepEqual(applied.unsettled, ['a']);
  }
});

test('in any order and with repeats, the row ends with the latest value or needs a refresh', async () => {
  const event = fc.tuple(fc.constantFrom('draft', 'open', 'other'), fc.integer({ min: 1, max: 8 }));
  const history = fc.record({
    events: fc.array(event, { minLength: 1, maxLength: 8 }),
    paidAt: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
  });
  await assertProperty(
    fc.property(history, fc.infiniteStream(fc.nat()), ({ events, paidAt }, numbers) => {
      const facts = events.map(([value, second]) => fact('a', value, second));
      if (paidAt !== undefined) facts.push(fact('a', 'paid', paidAt));
      const order = [...facts, ...facts]
        .map((item) => ({ item, rank: numbers.next().value ?? 0 }))
        .sort((one, other) => one.rank - other.rank)
        .map(({ item }) => item);
      const [first] = order;
      assert.ok(first !== undefined);
      const { written, applied } = fold([first], order.slice(1));
      const end = written[0]?.after ?? first;
      if (paidAt !== undefined) return assert.equal(end.value, 'paid');
      const lastSecond = Math.max(...facts.map(({ asOf }) => asOf.latest.getTime()));
      const last = new Set(
        facts.filter(({ asOf }) => asOf.latest.getTime() === lastSecond).map(({ value }) => value),
      );
      assert.equal(end.asOf.latest.getTime(), lastSecond);
      assert.ok(last.has(end.value));
      assert.equal(applied.unsettled.length, last.size > 1 ? 1 : 0);
    }),
  );
});
