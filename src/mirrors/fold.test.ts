import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { foldFacts, groupFacts, withoutRow } from './fold.ts';
import { judge, laterOf } from './transition.ts';

/** The smallest mirror that there can be: a value that is open or final, and the time that it stands for. */
interface Row {
  readonly key: string;
  readonly value: string;
  readonly asOf: Date;
}

const keyOf = ({ key }: Row) => key;
const isFinal = ({ value }: Row) => value === 'paid';

function take(row: Row, facts: Row) {
  const rule = isFinal(row) ? 'never' : isFinal(facts) ? 'always' : 'if newer';
  const isSame = row.value === facts.value;
  const verdict = judge({ rule, source: 'event', isSame, rowAsOf: row.asOf, factsAsOf: facts.asOf });
  return { verdict, row: { ...facts, asOf: laterOf(row.asOf, facts.asOf) } };
}

function fact(key: string, value: string, second: number): Row {
  return { key, value, asOf: new Date(second * 1_000) };
}

function fold(rows: readonly Row[], facts: readonly Row[]) {
  return foldFacts({ rows, groups: groupFacts(facts, keyOf), keyOf, take });
}

test("each object's facts are folded into its own row, and only rows that changed are written", () => {
  const [a, b] = [fact('a', 'draft', 1), fact('b', 'draft', 1)];
  const { changed, applied } = fold(
    [a, b],
    [fact('b', 'draft', 1), fact('a', 'open', 2), fact('a', 'paid', 3)],
  );
  assert.deepEqual(changed, [{ before: a, after: fact('a', 'paid', 3) }]);
  assert.deepEqual(applied, { settled: ['a', 'b'], unsettled: [], ignored: [] });
});

test('what concerns no row of ours is ignored', () => {
  const { changed, applied } = fold([], [fact('x', 'open', 1), fact('x', 'paid', 2), fact('y', 'open', 1)]);
  assert.deepEqual(changed, []);
  assert.deepEqual(applied, { settled: [], unsettled: [], ignored: ['x', 'y'] });
});

test('two values of one second stay unsettled, and the row stays as it was', () => {
  const row = fact('a', 'draft', 5);
  for (const facts of [
    [fact('a', 'open', 5)],
    [fact('a', 'open', 5), fact('a', 'draft', 5)],
    [fact('a', 'open', 5), fact('a', 'other', 4)],
  ]) {
    const { changed, applied } = fold([row], facts);
    assert.deepEqual(changed, []);
    assert.deepEqual(applied, { settled: [], unsettled: ['a'], ignored: [] });
  }
});

test('what is newer or final settles an earlier tie', () => {
  for (const last of [fact('a', 'open', 6), fact('a', 'paid', 1)]) {
    const { changed, applied } = fold([fact('a', 'draft', 5)], [fact('a', 'open', 5), last]);
    assert.equal(changed[0]?.after.value, last.value);
    assert.deepEqual(applied.settled, ['a']);
  }
});

test('whatever the order and the repetition of events, the row ends as the processor has it, or asks', () => {
  const event = fc.tuple(fc.constantFrom('draft', 'open', 'other'), fc.integer({ min: 1, max: 8 }));
  const history = fc.record({
    events: fc.array(event, { minLength: 1, maxLength: 8 }),
    paidAt: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(history, fc.infiniteStream(fc.nat()), ({ events, paidAt }, numbers) => {
      const facts = events.map(([value, second]) => fact('a', value, second));
      if (paidAt !== undefined) facts.push(fact('a', 'paid', paidAt));
      const order = [...facts, ...facts]
        .map((item) => ({ item, rank: numbers.next().value ?? 0 }))
        .sort((one, other) => one.rank - other.rank)
        .map(({ item }) => item);
      const [first] = order;
      assert.ok(first !== undefined);
      const { changed, applied } = fold([first], order.slice(1));
      const end = changed[0]?.after ?? first;
      if (paidAt !== undefined) return assert.equal(end.value, 'paid');
      const lastSecond = Math.max(...facts.map(({ asOf }) => asOf.getTime()));
      const last = new Set(
        facts.filter(({ asOf }) => asOf.getTime() === lastSecond).map(({ value }) => value),
      );
      assert.equal(end.asOf.getTime(), lastSecond);
      assert.ok(last.has(end.value));
      assert.equal(applied.unsettled.length, last.size > 1 ? 1 : 0);
    }),
  );
});

test('facts are grouped by their object, in the order given', () => {
  const [a1, b1, a2] = [fact('a', 'x', 1), fact('b', 'x', 1), fact('a', 'y', 2)];
  assert.deepEqual(
    [...groupFacts([a1, b1, a2], keyOf)],
    [
      ['a', [a1, a2]],
      ['b', [b1]],
    ],
  );
});

test('of each object without a row, the first facts', () => {
  const facts = [fact('a', 'x', 1), fact('b', 'x', 1), fact('b', 'y', 2)];
  assert.deepEqual(withoutRow(groupFacts(facts, keyOf), [fact('a', 'z', 0)], keyOf), [facts[1]]);
});
