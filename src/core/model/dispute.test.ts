import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atSecond, testNow } from '../../../test/support/transitions.ts';
import { type Dispute, takeDispute, takeDisputes } from './dispute.ts';
import type { Origin } from './facts.ts';

const undisputed = { dispute: null, updatedAt: new Date(0) };

/** A dispute created at this second, with this status at that one. */
function disputeOf(id: string, createdSecond: number, status = 'needs_response', second = 2_000): Dispute {
  return {
    ...{ processorDisputeId: id, status, amount: 700, currency: 'eur', reason: 'fraudulent' },
    createdAt: atSecond(createdSecond).earliest,
    evidenceDueBy: null,
    asOf: atSecond(second),
  };
}

function verdict(before: Dispute, after: Dispute, origin: Origin = 'event') {
  const { row } = takeDispute(undisputed, before, 'event', testNow);
  return takeDispute(row, after, origin, testNow).verdict;
}

test('the first dispute is taken from any source', () => {
  for (const origin of ['event', 'current', 'moved'] as const)
    assert.equal(takeDispute(undisputed, disputeOf('du_1', 1_000), origin, testNow).verdict, 'take');
});

test('a dispute that was created later replaces an earlier one, never the reverse, whatever the times of the events', () => {
  for (const origin of ['event', 'current', 'moved'] as const) {
    for (const second of [1_500, 2_000, 2_500]) {
      const [early, late] = [disputeOf('du_9', 1_000), disputeOf('du_1', 1_001)];
      assert.equal(verdict(early, { ...late, asOf: atSecond(second) }, origin), 'take');
      assert.equal(verdict(late, { ...early, asOf: atSecond(second) }, origin), 'keep');
      const twin = { ...disputeOf('du_2', 1_001), asOf: atSecond(second) };
      assert.equal(verdict(late, twin, origin), 'take', 'in one second the greater id');
      assert.equal(verdict({ ...twin, asOf: atSecond(2_000) }, late, origin), 'keep');
    }
  }
});

test('the newest event about a dispute wins, no status is final, and a tie needs a refresh', () => {
  for (const status of ['won', 'lost', 'warning_closed', 'needs_response']) {
    const before = disputeOf('du_1', 1_000, status);
    const after = (second: number, other = 'reopened') => disputeOf('du_1', 1_000, other, second);
    assert.equal(verdict(before, after(1_999)), 'keep');
    assert.equal(verdict(before, after(2_000)), 'refresh');
    assert.equal(verdict(before, after(2_001)), 'take');
    assert.equal(verdict(before, after(2_000, status)), 'keep');
    assert.equal(verdict(before, after(1_999), 'current'), 'take');
    assert.equal(verdict(before, after(2_001), 'moved'), 'refresh');
  }
});

test('a response that reports a dispute needs a refresh if the row has none, and brings the newest if it lists them', () => {
  const take = (facts: Parameters<typeof takeDisputes>[1], row = undisputed) =>
    takeDisputes(row, facts, 'current', testNow);
  assert.equal(take({}).verdict, 'keep');
  assert.equal(take({ isDisputed: false }).verdict, 'keep');
  assert.equal(take({ isDisputed: true }).verdict, 'refresh');
  assert.equal(take({ isDisputed: true, disputes: [] }).verdict, 'keep', 'reading again would not help');
  const { row } = take({ disputes: [disputeOf('du_1', 1), disputeOf('du_3', 3), disputeOf('du_2', 2)] });
  assert.equal(Object(row.dispute).processorDisputeId, 'du_3');
  assert.equal(takeDisputes(row, { isDisputed: true }, 'moved', testNow).verdict, 'keep');
});
