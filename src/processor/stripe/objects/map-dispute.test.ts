import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { asOfEvent } from '#core/model/facts.ts';
import { eventFixture, eventFixtureWith } from '../../../../test/fixtures/event-fixture.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import { readEvent } from '../events/map-event.ts';

const created = 'charge.dispute.created';

const dispute = {
  processorDisputeId: 'du_1',
  processorPaymentIntentId: 'pi_1',
  status: 'needs_response',
  amount: 2000,
  currency: 'eur',
  reason: 'fraudulent',
  evidenceDueBy: new Date('2026-01-10T23:59:59Z'),
  createdAt: new Date('2026-01-01T00:00:55Z'),
  asOf: asOfEvent(new Date('2026-01-01T00:01:00Z')),
};

function readWith(field: string, value: unknown) {
  return readEvent(eventFixtureWith(created, field, value));
}

describe('an event about a dispute', () => {
  test('maps to what the payment shows of it', () => {
    assert.deepEqual(readEvent(eventFixture(created)), { subject: 'dispute', facts: [dispute] });
    assert.deepEqual(readEvent(eventFixture('charge.dispute.closed')), {
      subject: 'dispute',
      facts: [{ ...dispute, status: 'lost' }],
    });
  });

  test('names its payment intent directly, expanded, or by its expanded charge', () => {
    assert.deepEqual(readWith('payment_intent', { id: 'pi_1' }), { subject: 'dispute', facts: [dispute] });
    assert.deepEqual(readEvent(eventFixture('charge.dispute.updated.older')), {
      subject: 'dispute',
      facts: [{ ...dispute, status: 'warning_needs_response' }],
    });
  });

  test('is unlinked without a payment intent, and if only its id was stored', () => {
    const unlinked = { subject: 'unlinkedDispute', facts: [{ processorDisputeId: 'du_1' }] };
    for (const none of [undefined, null, 7, ''])
      assert.deepEqual(readWith('payment_intent', none), unlinked, String(none));
    const event = JSON.parse(eventFixture(created));
    event.data.object = { id: 'du_1', object: 'dispute' };
    assert.deepEqual(readEvent(JSON.stringify(event)), unlinked);
  });

  test('has no due date and no reason where they cannot be read, and any status', () => {
    for (const odd of [undefined, null, {}, { due_by: null }, { due_by: -1 }])
      assert.deepEqual(readWith('evidence_details', odd), {
        subject: 'dispute',
        facts: [{ ...dispute, evidenceDueBy: null }],
      });
    for (const odd of [undefined, null, 7, ''])
      assert.deepEqual(readWith('reason', odd), {
        subject: 'dispute',
        facts: [{ ...dispute, reason: null }],
      });
    assert.deepEqual(readWith('status', 'brand_new'), {
      subject: 'dispute',
      facts: [{ ...dispute, status: 'brand_new' }],
    });
  });

  for (const [field, value] of [
    ['status', null],
    ['status', 'x'.repeat(256)],
    ['amount', -1],
    ['amount', undefined],
    ['currency', 'euro'],
    ['created', undefined],
  ] as const) {
    test(`is refused with ${field} ${String(value).slice(0, 10)}`, () => {
      assert.throws(
        () => readWith(field, value),
        (error) => error instanceof UnmappableError && error.message.startsWith(`dispute.${field} `),
      );
    });
  }
});
