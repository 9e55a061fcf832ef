import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../../test/support/seeds.ts';
import { atSecond } from '../../../test/support/transitions.ts';
import {
  type AsOf,
  asOfEvent,
  foldFacts,
  judge,
  laterOf,
  type Origin,
  type Rule,
  type Source,
  type Verdict,
} from './facts.ts';

const times = { older: atSecond(999), same: atSecond(1_000), newer: atSecond(1_001) };
const rowAsOf = times.same;

function verdictsOf(rule: Rule, origin: Origin, isSame: boolean): readonly Verdict[] {
  return [times.older, times.same, times.newer].map((factsAsOf) =>
    judge({ rule, origin, isSame, rowAsOf, factsAsOf }),
  );
}

test('a final event wins at any time; otherwise newer wins, older loses, and a tie needs a refresh', () => {
  for (const isSame of [true, false]) {
    assert.deepEqual(verdictsOf('always', 'event', isSame), ['take', 'take', 'take']);
    assert.deepEqual(verdictsOf('never', 'event', isSame), ['keep', 'keep', 'keep']);
  }
  assert.deepEqual(verdictsOf('if newer', 'event', false), ['keep', 'refresh', 'take']);
});

test('an event with the same values in the same second is not a tie', () => {
  assert.deepEqual(verdictsOf('if newer', 'event', true), ['keep', 'keep', 'take']);
});

test('a response for an unchanged row wins whatever its time, unless the current status is final', () => {
  for (const isSame of [true, false]) {
    assert.deepEqual(verdictsOf('if newer', 'current', isSame), ['take', 'take', 'take']);
    assert.deepEqual(verdictsOf('always', 'current', isSame), ['take', 'take', 'take']);
    assert.deepEqual(verdictsOf('never', 'current', isSame), ['keep', 'keep', 'keep']);
  }
});

test('a response for a row that changed meanwhile needs a refresh, unless it has the same values or is final', () => {
  assert.deepEqual(verdictsOf('if newer', 'moved', false), ['refresh', 'refresh', 'refresh']);
  assert.deepEqual(verdictsOf('if newer', 'moved', true), ['keep', 'keep', 'take']);
  assert.deepEqual(verdictsOf('always', 'moved', false), ['take', 'take', 'take']);
  assert.deepEqual(verdictsOf('never', 'moved', false), ['keep', 'keep', 'keep']);
});

test('an event dated between the request and the arrival of the response in the row is a tie', () => {
  const rowAsOf = { earliest: times.same.earliest, latest: atSecond(1_003).latest };
  const verdictAt = (second: number, isSame: boolean) =>
    judge({ rule: 'if newer', origin: 'event', isSame, rowAsOf, factsAsOf: atSecond(second) });
  const seconds = [999, 1_000, 1_002, 1_003, 1_004];
  assert.deepEqual(
    seconds.map((second) => verdictAt(second, false)),
    ['keep', 'refresh', 'refresh', 'refresh', 'take'],
  );
  assert.deepEqual(
    seconds.map((second) => verdictAt(second, true)),
    ['keep', 'keep', 'keep', 'keep', 'take'],
  );
});

test('the time of a row never goes back, at either end', () => {
  assert.deepEqual(laterOf(times.older, times.newer), times.newer);
  assert.deepEqual(laterOf(times.newer, times.older), times.newer);
  const response = { earliest: times.older.earliest, latest: times.newer.latest };
  assert.deepEqual(laterOf(times.same, response), {
    earliest: times.same.earliest,
    latest: times.newer.latest,
  });
});

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
