import assert from 'node:assert/strict';
import { test } from 'node:test';
import { currentWindow, limitOf, type WindowTerms, windowOf } from './usage-window.ts';

const time = (text: string) => new Date(`${text}T10:00:00Z`);

const monthly: WindowTerms = {
  isEntitled: true,
  windowNumber: 0,
  currentPeriodStart: time('2026-03-10'),
  currentPeriodEnd: time('2026-04-10'),
  trialEnd: null,
  endedAt: null,
  graceEndedAt: null,
  createdAt: new Date('2026-01-05T08:00:00Z'),
  processorAsOf: time('2026-03-10'),
  interval: 'month',
  intervalCount: 1,
  features: { calls: 10 },
};
const perPeriod = { key: 'calls', resets: 'period' } as const;
const perMonth = { key: 'calls', resets: 'month' } as const;

/** The days of a window, without its time. */
function days(terms: readonly WindowTerms[], at: string | Date, meter: typeof perPeriod | typeof perMonth) {
  const { start, end, isGranted } = windowOf(terms, meter, typeof at === 'string' ? time(at) : at);
  const range = `${start.toISOString().slice(0, 10)} ${end.toISOString().slice(0, 10)}`;
  return isGranted ? range : `UTC ${range}`;
}

test('a time counts in the current period, from its start to its end', () => {
  assert.equal(days([monthly], '2026-03-10', perPeriod), '2026-03-10 2026-04-10');
  assert.equal(days([monthly], '2026-04-09', perPeriod), '2026-03-10 2026-04-10');
});

test('at the end of the period the next one begins, whether the processor has reported it or not', () => {
  assert.equal(days([monthly], '2026-04-10', perPeriod), '2026-04-10 2026-05-10');
  assert.equal(days([monthly], '2026-07-09', perPeriod), '2026-06-10 2026-07-10');
  const weekly = { ...monthly, interval: 'week' as const, currentPeriodEnd: time('2026-03-17') };
  assert.equal(days([weekly], '2026-03-17', perPeriod), '2026-03-17 2026-03-24');
  const trial = { ...monthly, interval: 'year' as const, currentPeriodEnd: time('2026-03-24') };
  assert.equal(days([trial], '2026-03-23', perMonth), '2026-03-10 2026-03-24');
  assert.equal(days([trial], '2026-03-24', perPeriod), '2026-03-24 2027-03-24');
  assert.equal(days([trial], '2026-04-25', perMonth), '2026-04-24 2026-05-24');
});

test('periods that begin on the 31st end on the last day of a shorter month', () => {
  const january = {
    ...monthly,
    currentPeriodStart: time('2026-01-31'),
    currentPeriodEnd: time('2026-02-28'),
  };
  assert.equal(days([january], '2026-02-28', perPeriod), '2026-02-28 2026-03-31');
  assert.equal(days([january], '2026-04-30', perPeriod), '2026-04-30 2026-05-31');
  const february = {
    ...monthly,
    currentPeriodStart: time('2026-02-28'),
    currentPeriodEnd: time('2026-03-31'),
  };
  assert.equal(days([february], '2026-04-01', perPeriod), '2026-03-31 2026-04-30');
  const yearly = {
    ...monthly,
    interval: 'year' as const,
    currentPeriodStart: time('2026-01-31'),
    currentPeriodEnd: time('2027-01-31'),
  };
  const found = ['2026-01-31', '2026-02-28', '2026-03-30', '2026-03-31', '2026-12-31'].map((at) =>
    days([yearly], at, perMonth),
  );
  assert.deepEqual(found, [
    '2026-01-31 2026-02-28',
    '2026-02-28 2026-03-31',
    '2026-02-28 2026-03-31',
    '2026-03-31 2026-04-30',
    '2026-12-31 2027-01-31',
  ]);
});

test('a month equals a shorter period, and the last month ends with its period', () => {
  assert.equal(days([monthly], '2026-03-20', perMonth), '2026-03-10 2026-04-10');
  const quarter = {
    ...monthly,
    intervalCount: 3,
    currentPeriodStart: time('2026-02-28'),
    currentPeriodEnd: time('2026-05-31'),
  };
  const found = ['2026-03-01', '2026-03-31', '2026-05-30'].map((at) => days([quarter], at, perMonth));
  assert.deepEqual(found, ['2026-02-28 2026-03-31', '2026-03-31 2026-04-30', '2026-04-30 2026-05-31']);
});

test('the newest subscription that grants the meter decides', () => {
  const newest = { ...monthly, currentPeriodStart: time('2026-03-01'), currentPeriodEnd: time('2026-04-01') };
  assert.equal(days([newest, monthly], '2026-03-20', perPeriod), '2026-03-01 2026-04-01');
  const other = { ...newest, features: { seats: 5, calls: false } };
  assert.equal(days([other, monthly], '2026-03-20', perPeriod), '2026-03-10 2026-04-10');
  const unlimited = { ...newest, features: { calls: true } };
  assert.equal(days([unlimited, monthly], '2026-03-20', perPeriod), '2026-03-01 2026-04-01');
});

test('without a subscription that grants the meter, the window is the UTC month', () => {
  const month = 'UTC 2026-03-01 2026-04-01';
  assert.equal(days([], '2026-03-20', perPeriod), month);
  assert.equal(days([monthly], '2026-03-09', perPeriod), month);
  assert.equal(days([{ ...monthly, isEntitled: false }], '2026-03-20', perPeriod), month);
  assert.equal(days([], new Date('2026-03-31T23:59:59.999Z'), perMonth), month);
});

test('a late event counts in the period in which it happened', () => {
  const past = {
    start: time('2026-02-10'),
    end: time('2026-03-10'),
    until: time('2026-03-10'),
    terms: monthly,
  };
  const terms = { ...monthly, pastPeriods: [past] };
  assert.equal(days([terms], '2026-03-09', perPeriod), '2026-02-10 2026-03-10');
  assert.equal(days([terms], '2026-02-09', perPeriod), 'UTC 2026-02-01 2026-03-01');
  const ended = { ...terms, isEntitled: false, endedAt: time('2026-03-20') };
  assert.equal(days([ended], '2026-03-19', perPeriod), '2026-03-10 2026-04-10');
  assert.equal(days([ended], '2026-03-20', perPeriod), 'UTC 2026-03-01 2026-04-01');
});

test('a late event counts in the window that was open, even if the processor has skipped its period', () => {
  const daily = { interval: 'day' as const, intervalCount: 1, features: { calls: 10 } };
  const past = {
    start: time('2026-03-05'),
    end: time('2026-03-06'),
    until: time('2026-03-10'),
    terms: daily,
  };
  const renewed = { ...monthly, ...daily, currentPeriodEnd: time('2026-03-11'), pastPeriods: [past] };
  assert.equal(days([renewed], '2026-03-05', perPeriod), '2026-03-05 2026-03-06');
  assert.equal(days([renewed], '2026-03-07', perPeriod), '2026-03-07 2026-03-08');
  assert.equal(days([renewed], '2026-03-09', perPeriod), '2026-03-09 2026-03-10');
  assert.equal(days([renewed], '2026-03-10', perPeriod), '2026-03-10 2026-03-11');
  assert.equal(days([renewed], '2026-03-04', perPeriod), 'UTC 2026-03-01 2026-04-01');
  // The plan that it has now decides nothing about then.
  const larger = { ...monthly, pastPeriods: [{ ...past, end: time('2026-03-08') }] };
  assert.equal(days([larger], '2026-03-08', perPeriod), '2026-03-08 2026-03-09');
  const weekly = { ...past, terms: { ...daily, interval: 'week' as const } };
  const cutShort = days([{ ...monthly, pastPeriods: [weekly] }], '2026-03-07', perPeriod);
  assert.equal(cutShort, '2026-03-06 2026-03-10', 'a new period began before the expected one ended');
});

test('a change within the period decides about what happens after it', () => {
  const without = { interval: 'month' as const, intervalCount: 1, features: {} };
  const { start, end } = { start: time('2026-03-10'), end: time('2026-04-10') };
  const before = { start, end, until: time('2026-03-20'), terms: { ...without, features: { calls: 10 } } };
  const removed = { ...monthly, ...without, pastPeriods: [before] };
  assert.equal(days([removed], '2026-03-19', perPeriod), '2026-03-10 2026-04-10');
  assert.equal(days([removed], '2026-03-20', perPeriod), 'UTC 2026-03-01 2026-04-01');
  const returned = {
    ...monthly,
    pastPeriods: [before, { start, end, until: time('2026-03-25'), terms: without }],
  };
  assert.deepEqual(
    ['2026-03-19', '2026-03-20', '2026-03-25'].map((at) => days([returned], at, perPeriod)),
    ['2026-03-10 2026-04-10', 'UTC 2026-03-01 2026-04-01', '2026-03-10 2026-04-10'],
  );
});

test('a pause ends the window of a trial, and what came before counts in it', () => {
  const trial = {
    start: time('2026-03-10'),
    end: time('2026-03-17'),
    until: time('2026-03-17'),
    terms: monthly,
  };
  const paused = {
    ...monthly,
    isEntitled: false,
    currentPeriodEnd: time('2026-03-17'),
    pastPeriods: [trial],
  };
  assert.equal(days([paused], '2026-03-16', perPeriod), '2026-03-10 2026-03-17');
  assert.equal(days([paused], '2026-03-17', perPeriod), 'UTC 2026-03-01 2026-04-01');
  const resumed = {
    ...monthly,
    currentPeriodStart: time('2026-03-25'),
    currentPeriodEnd: time('2026-04-25'),
    pastPeriods: [trial],
  };
  assert.equal(days([resumed], '2026-03-20', perPeriod), 'UTC 2026-03-01 2026-04-01');
  assert.equal(days([resumed], '2026-03-16', perPeriod), '2026-03-10 2026-03-17');
});

test('a time without access before the end has no window', () => {
  const [start, end] = [time('2026-03-10'), time('2026-04-10')];
  const paid = { start, end, until: time('2026-03-15'), terms: monthly };
  const endedAt = time('2026-03-20');
  const without = { start: endedAt, end: endedAt, until: endedAt, terms: monthly };
  const ended = { ...monthly, isEntitled: false, endedAt, pastPeriods: [paid, without] };
  assert.deepEqual(
    ['2026-03-14', '2026-03-15', '2026-03-19', '2026-03-20'].map((at) => days([ended], at, perPeriod)),
    ['2026-03-10 2026-04-10', ...Array.from({ length: 3 }, () => 'UTC 2026-03-01 2026-04-01')],
  );
});

test('months count from the day of the first period, or of the end of the trial', () => {
  const quarter = {
    ...monthly,
    intervalCount: 3,
    createdAt: time('2026-12-31'),
    currentPeriodStart: time('2027-06-30'),
    currentPeriodEnd: time('2027-09-30'),
  };
  const found = ['2027-07-30', '2027-07-31', '2027-09-29'].map((at) => days([quarter], at, perMonth));
  assert.deepEqual(found, ['2027-06-30 2027-07-31', '2027-07-31 2027-08-31', '2027-08-31 2027-09-30']);
  assert.equal(days([quarter], '2027-12-30', perPeriod), '2027-09-30 2027-12-31');
  const twoMonths = {
    ...quarter,
    intervalCount: 2,
    currentPeriodStart: time('2027-02-28'),
    currentPeriodEnd: time('2027-04-30'),
  };
  assert.equal(days([twoMonths], '2027-03-30', perMonth), '2027-02-28 2027-03-31');
  assert.equal(days([twoMonths], '2027-05-30', perMonth), '2027-04-30 2027-05-31');
  const afterTrial = { ...quarter, createdAt: time('2026-10-31'), trialEnd: time('2026-11-30') };
  assert.equal(days([afterTrial], '2027-07-30', perMonth), '2027-07-30 2027-08-30');
  // A change of the interval has begun the periods anew.
  const other = { ...quarter, createdAt: new Date('2026-12-31T08:00:00Z') };
  assert.equal(days([other], '2027-07-30', perMonth), '2027-07-30 2027-08-30');
});

test('a period that has begun is open even if the clock is behind', () => {
  const { start, isGranted } = currentWindow([monthly], perPeriod, time('2026-03-09'));
  assert.deepEqual([start, isGranted], [time('2026-03-10'), true]);
});

test('a limit is an integer, and true means that there is none', () => {
  assert.deepEqual([5, true, false, 'many', undefined].map(limitOf), [5, null, 0, 0, 0]);
});
