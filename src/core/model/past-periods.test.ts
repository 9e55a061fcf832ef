import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pastPeriodsOf, type SubscriptionChange } from './past-periods.ts';

/** A time in March 2026. Days after the 31st are in April. */
const day = (number: number) => new Date(Date.UTC(2026, 2, number, 10));

const terms = { interval: 'month', intervalCount: 1, features: { calls: 10 } } as const;

interface Given {
  readonly before?: Partial<SubscriptionChange['before']>;
  readonly after?: Partial<SubscriptionChange['after']>;
  readonly at: Date;
}

/** A change of an active subscription whose period is from the 10th to the 40th. */
function change({ before, after, at }: Given): SubscriptionChange {
  const was = {
    status: 'active',
    start: day(10),
    end: day(40),
    graceEndsAt: null,
    terms,
    ...before,
  } as const;
  const { status, start } = was;
  return { before: was, after: { status, start, endedAt: null, hasOtherTerms: false, ...after }, at };
}

/** The days of the periods: start, end and until. */
function periodsOf(...given: readonly Given[]) {
  const numberOf = (time: Date) => (time.getTime() - day(0).getTime()) / 86_400_000;
  return pastPeriodsOf(given.map(change)).map(({ start, end, until }) => [start, end, until].map(numberOf));
}

test('a renewal ends the period before it when the next one begins, however late it is reported', () => {
  const after = { start: day(40) };
  assert.deepEqual(periodsOf({ after, at: day(40) }, { after, at: day(45) }), [
    [10, 40, 40],
    [10, 40, 40],
  ]);
  assert.deepEqual(periodsOf({ after: { start: day(70) }, at: day(75) }), [[10, 40, 70]], 'one was missed');
});

test('a period that begins early cuts the one before it', () => {
  assert.deepEqual(periodsOf({ after: { start: day(20) }, at: day(21) }), [[10, 20, 20]]);
  const canceled = { status: 'canceled', start: day(20), endedAt: day(25) } as const;
  assert.deepEqual(periodsOf({ after: canceled, at: day(26) }), [[10, 20, 20]]);
});

test('other terms hold from the change on', () => {
  assert.deepEqual(periodsOf({ after: { hasOtherTerms: true }, at: day(20) }), [[10, 40, 20]]);
  const [period] = pastPeriodsOf([change({ after: { hasOtherTerms: true }, at: day(20) })]);
  assert.equal(period?.terms, terms, 'the terms are those before the change');
});

test('a subscription that stays entitled in the same period has lost nothing', () => {
  assert.deepEqual(
    periodsOf({ before: { status: 'trialing' }, after: { status: 'active' }, at: day(20) }),
    [],
  );
  const paid = { before: { status: 'past_due', graceEndsAt: day(43) }, after: { status: 'active' } } as const;
  assert.deepEqual(periodsOf({ ...paid, at: day(20) }), []);
});

test('access ends with the subscription, or with its period if that was earlier', () => {
  const unpaid = { status: 'unpaid' } as const;
  assert.deepEqual(periodsOf({ after: unpaid, at: day(20) }), [[10, 40, 20]]);
  assert.deepEqual(periodsOf({ after: unpaid, at: day(45) }), [[10, 40, 40]]);
  const canceled = { status: 'canceled', endedAt: day(18) } as const;
  assert.deepEqual(periodsOf({ after: canceled, at: day(20) }), [[10, 40, 18]]);
  assert.deepEqual(periodsOf({ after: { ...canceled, endedAt: day(45) }, at: day(46) }), [[10, 40, 40]]);
});

test('a grace period entitles until it ends', () => {
  const inGrace = { status: 'past_due', graceEndsAt: day(13) } as const;
  assert.deepEqual(periodsOf({ before: inGrace, after: { status: 'unpaid' }, at: day(12) }), [[10, 40, 12]]);
  assert.deepEqual(periodsOf({ before: inGrace, after: { status: 'unpaid' }, at: day(15) }), [[10, 40, 13]]);
  assert.deepEqual(periodsOf({ before: inGrace, after: { start: day(40) }, at: day(40) }), [[10, 40, 13]]);
  assert.deepEqual(periodsOf({ before: inGrace, after: { hasOtherTerms: true }, at: day(12) }), [
    [10, 40, 12],
  ]);
  assert.deepEqual(periodsOf({ before: inGrace, at: day(13) }), [[10, 40, 13]], 'it ended by itself');
  const without = { status: 'past_due' } as const;
  assert.deepEqual(periodsOf({ before: without, after: { start: day(40) }, at: day(40) }), []);
  // What a row says about grace counts only while the subscription is past due.
  const left = { status: 'unpaid', graceEndsAt: day(13) } as const;
  assert.deepEqual(periodsOf({ before: left, after: { start: day(40) }, at: day(40) }), []);
});

test('a time without access before the end is no period', () => {
  const canceled = { status: 'canceled', endedAt: day(20) } as const;
  const end = [20, 20, 20];
  for (const status of ['incomplete', 'past_due', 'unpaid'] as const)
    assert.deepEqual(periodsOf({ before: { status }, after: canceled, at: day(21) }), [end], status);
  const inGrace = { status: 'past_due', graceEndsAt: day(13) } as const;
  assert.deepEqual(periodsOf({ before: inGrace, after: canceled, at: day(21) }), [[10, 40, 13], end]);
  const untilThen = { ...inGrace, graceEndsAt: day(20) };
  assert.deepEqual(periodsOf({ before: untilThen, after: canceled, at: day(21) }), [[10, 40, 20]]);
  const left = { ...untilThen, status: 'unpaid' } as const;
  assert.deepEqual(periodsOf({ before: left, after: canceled, at: day(21) }), [end]);
  const expired = { status: 'incomplete_expired', endedAt: day(20) } as const;
  assert.deepEqual(periodsOf({ before: { status: 'incomplete' }, after: expired, at: day(21) }), []);
  assert.deepEqual(
    periodsOf({ before: { status: 'unpaid' }, after: { ...canceled, endedAt: null }, at: day(21) }),
    [],
  );
});

test('a subscription without a period had none', () => {
  const canceled = { status: 'canceled' } as const;
  assert.deepEqual(periodsOf({ before: { start: null }, after: canceled, at: day(20) }), []);
  assert.deepEqual(periodsOf({ before: { end: null }, after: canceled, at: day(20) }), []);
  assert.deepEqual(
    periodsOf({ before: { status: 'incomplete' }, after: { status: 'active' }, at: day(11) }),
    [],
  );
});

test('the periods are in the order in which they ended, and of one second the first change is first', () => {
  const plan = { after: { hasOtherTerms: true } } as const;
  assert.deepEqual(periodsOf({ ...plan, at: day(30) }, { ...plan, at: day(20) }), [
    [10, 40, 20],
    [10, 40, 30],
  ]);
  const second = { ...plan, before: { end: day(50) } };
  assert.deepEqual(periodsOf({ ...plan, at: day(20) }, { ...second, at: day(20) }), [
    [10, 40, 20],
    [10, 50, 20],
  ]);
});
