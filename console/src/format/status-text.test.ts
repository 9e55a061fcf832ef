import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayText } from './local-time.ts';
import { paymentStatus } from './status-text.ts';

const paid = {
  status: 'succeeded',
  failure: null,
  dispute: null,
  amountRefunded: 0,
  amountCapturable: 0,
  captureBefore: null,
} as const;
const dispute = {
  status: 'needs_response',
  amount: 1,
  reason: null,
  evidenceDueBy: '2031-12-03T12:00:00.000Z',
};

test('the status of a payment says what happened, the most urgent first', () => {
  const due = dayText(dispute.evidenceDueBy);
  for (const [values, text] of [
    [{}, 'Succeeded'],
    [{ amountRefunded: 1 }, 'Partly refunded'],
    [{ status: 'refunded', amountRefunded: 2 }, 'Refunded'],
    [{ dispute, amountRefunded: 1 }, `Disputed: evidence due ${due}`],
    [{ dispute: { ...dispute, evidenceDueBy: null } }, 'Disputed: evidence needed'],
    [{ dispute: { ...dispute, status: 'warning_needs_response' } }, `Disputed: evidence due ${due}`],
    [{ dispute: { ...dispute, status: 'under_review' } }, 'Disputed: under review'],
    [{ dispute: { ...dispute, status: 'lost' } }, 'Dispute lost'],
    [{ dispute: { ...dispute, status: 'won' } }, 'Succeeded'],
    [{ status: 'requires_payment_method' }, 'Not paid yet'],
    [
      {
        status: 'requires_payment_method',
        failure: { code: 'card_declined', declineCode: 'insufficient_funds', message: null },
      },
      'Failed: insufficient funds',
    ],
    [
      {
        status: 'requires_payment_method',
        failure: { code: 'expired_card', declineCode: null, message: null },
      },
      'Failed: expired card',
    ],
    [
      { status: 'requires_payment_method', failure: { code: null, declineCode: null, message: null } },
      'Failed',
    ],
    [{ status: 'requires_action' }, 'Waits for the customer'],
    [
      { status: 'requires_action', amountCapturable: 5, captureBefore: dispute.evidenceDueBy },
      `Authorised: capture before ${due}`,
    ],
    [{ status: 'canceled' }, 'Canceled'],
  ] as const)
    assert.equal(paymentStatus({ ...paid, ...values }).text, text);
});

test('a day has its year unless it is this year', () => {
  assert.match(dayText('2031-12-03T12:00:00.000Z'), /3.*2031|2031.*3/);
  assert.doesNotMatch(dayText(`${new Date().getFullYear()}-06-15T12:00:00.000Z`), /20\d\d/);
});
