import assert from 'node:assert/strict';
import { type AsOf, asOfEvent, type Origin, type Verdict } from '#core/model/facts.ts';

/**
 * The rule for a pair of statuses, the row's and the one that arrives:
 *
 * - `=` the same value: no change, though a newer one moves the row's time on
 * - `<` neither is final: newer wins, older changes nothing, and the same second needs a refresh
 * - `!` the status that arrives is final: it wins, whatever the times
 * - `.` the row's status is final: it stays
 *
 * A response is the processor's current state, so its time does not matter, and only a final status stays. If the row
 * has moved since the refresh began, either can be newer, and it is refreshed again.
 */
export type PairRule = '=' | '<' | '!' | '.';

const seconds = { older: 999, 'same second': 1_000, newer: 1_001 } as const;
export type When = keyof typeof seconds;

export const rowAsOf = atSecond(seconds['same second']);
export const rowCreatedAt = rowAsOf.earliest;
/** Long before the test, so that a change shows by its time. */
export const rowUpdatedAt = new Date('2026-01-01T00:00:00Z');
export const testNow = new Date('2026-02-02T00:00:00Z');

const outcomes: Readonly<Record<PairRule, Readonly<Record<Origin, Readonly<Record<When, Verdict>>>>>> = {
  '=': {
    event: { older: 'keep', 'same second': 'keep', newer: 'take' },
    current: { older: 'take', 'same second': 'take', newer: 'take' },
    moved: { older: 'keep', 'same second': 'keep', newer: 'take' },
  },
  '<': {
    event: { older: 'keep', 'same second': 'refresh', newer: 'take' },
    current: { older: 'take', 'same second': 'take', newer: 'take' },
    moved: { older: 'refresh', 'same second': 'refresh', newer: 'refresh' },
  },
  '!': {
    event: { older: 'take', 'same second': 'take', newer: 'take' },
    current: { older: 'take', 'same second': 'take', newer: 'take' },
    moved: { older: 'take', 'same second': 'take', newer: 'take' },
  },
  '.': {
    event: { older: 'keep', 'same second': 'keep', newer: 'keep' },
    current: { older: 'keep', 'same second': 'keep', newer: 'keep' },
    moved: { older: 'keep', 'same second': 'keep', newer: 'keep' },
  },
};

interface Arrival<Status> {
  readonly from: Status;
  readonly to: Status;
  readonly asOf: AsOf;
  readonly origin: Origin;
}

interface Outcome<Status> {
  readonly verdict: Verdict;
  readonly status: Status;
  readonly asOf: AsOf;
  readonly updatedAt: Date;
}

/**
 * Walks every pair of statuses at every time and from every source. The table has a line for each status of the row;
 * its rules are for the statuses that arrive, in the order of the lines.
 */
export function assertTransitions<Status extends string>(
  table: Readonly<Record<Status, string>>,
  take: (arrival: Arrival<Status>) => Outcome<Status>,
): void {
  // The keys of a record of statuses are statuses.
  const statuses = Object.keys(table) as Status[];
  for (const from of statuses) {
    const rules = table[from].trim().split(/\s+/) as PairRule[];
    assert.equal(rules.length, statuses.length, `the line of ${from}`);
    for (const [index, to] of statuses.entries()) {
      const rule = rules[index];
      assert.ok(rule !== undefined && rule in outcomes);
      for (const origin of ['event', 'current', 'moved'] as const) {
        for (const [when, second] of Object.entries(seconds)) {
          const what = `${from} → ${to}, ${origin}, ${when}`;
          const asOf = atSecond(second);
          const outcome = take({ from, to, asOf, origin });
          assert.equal(outcome.verdict, outcomes[rule][origin][when as When], what);
          if (outcome.verdict !== 'take') continue;
          assert.equal(outcome.status, to, what);
          assert.deepEqual(
            outcome.asOf,
            asOf.earliest > rowAsOf.earliest ? asOf : rowAsOf,
            `${what}: time never goes back`,
          );
          assert.deepEqual(outcome.updatedAt, rule === '=' ? rowUpdatedAt : testNow, what);
        }
      }
    }
  }
}

/** The time of an event of this second. */
export function atSecond(second: number): AsOf {
  return asOfEvent(new Date(second * 1_000));
}
