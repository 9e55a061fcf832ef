import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type GivenDates, phaseAt, phaseDates } from './subscription-schedule.ts';

const day = 86_400;
const january = Date.UTC(2027, 0, 31) / 1_000;
const february = Date.UTC(2027, 1, 28) / 1_000;

const given = (dates: Partial<GivenDates> = {}): GivenDates => ({
  start: undefined,
  end: undefined,
  duration: undefined,
  period: { interval: 'month', count: 1 },
  ...dates,
});

const dates = (phases: GivenDates[], now = january + day) => phaseDates(phases, january, now);

test('phases follow each other, and a phase without an end lasts one period', () => {
  assert.deepEqual(dates([given({ start: january, end: february }), given()]), [
    { start: january, end: february },
    { start: february, end: Date.UTC(2027, 2, 28) / 1_000 },
  ]);
  assert.deepEqual(dates([given({ start: january }), given({ start: january + 9 * day })])[0], {
    start: january,
    end: january + 9 * day,
  });
  assert.equal(
    dates([given({ start: january, duration: { interval: 'week', count: 2 } })])[0]?.end,
    january + 14 * day,
  );
});

test('a gap, an empty phase, two ends and a missing anchor are refused', () => {
  const first = given({ start: january, end: february });
  for (const phases of [
    [],
    [given({ end: february })],
    [first, given({ start: february + 1 })],
    [given({ start: january, end: january })],
    [given({ start: january, end: february, duration: { interval: 'day', count: 1 } })],
  ])
    assert.throws(() => dates(phases), { name: 'WireError', status: 400 });
});

test('the running phase keeps its start and ends in the future; past phases may be left out', () => {
  assert.throws(() => dates([given({ start: january + 1 })]), /start date of the current phase/);
  assert.throws(() => dates([given({ start: january, end: february })], february + 1), /in the future/);
  const past = given({ start: january - 9 * day, end: january });
  assert.equal(dates([past, given({ start: january })]).length, 2);
});

test('the running phase is the one that has started and has not ended', () => {
  const phases = [
    { start_date: 10, end_date: 20 },
    { start_date: 20, end_date: 30 },
  ];
  assert.deepEqual(
    [9, 10, 19, 20, 29, 30].map((at) => phaseAt(phases, at)?.start_date),
    [undefined, 10, 10, 20, 20, undefined],
  );
});
