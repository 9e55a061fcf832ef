import type { Payment } from '@till/client';
import { dayText } from './local-time.ts';
import { words } from './words.ts';

/** What a status means for an operator. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'done';

/** A status as people read it. */
export interface StatusText {
  readonly text: string;
  readonly tone: Tone;
}

type PaymentState = Pick<
  Payment,
  'status' | 'failure' | 'dispute' | 'amountRefunded' | 'amountCapturable' | 'captureBefore'
>;

const plainTexts: Readonly<Record<Payment['status'], StatusText>> = {
  requires_payment_method: { text: 'Not paid yet', tone: 'warn' },
  requires_confirmation: { text: 'Not paid yet', tone: 'warn' },
  requires_action: { text: 'Waits for the customer', tone: 'warn' },
  processing: { text: 'Processing', tone: 'busy' },
  succeeded: { text: 'Succeeded', tone: 'good' },
  canceled: { text: 'Canceled', tone: 'done' },
  refunded: { text: 'Refunded', tone: 'done' },
};

/** What happened to a payment, the most urgent first. */
export function paymentStatus(payment: PaymentState): StatusText {
  const { status, failure, amountRefunded, amountCapturable, captureBefore } = payment;
  const disputed = disputeStatus(payment);
  if (disputed !== undefined) return disputed;
  if (amountRefunded > 0 && status === 'succeeded') return { text: 'Partly refunded', tone: 'warn' };
  if (failure !== null && status === 'requires_payment_method') {
    const reason = failure.declineCode ?? failure.code;
    return { text: reason === null ? 'Failed' : `Failed: ${lower(reason)}`, tone: 'bad' };
  }
  if (amountCapturable > 0) {
    const until = captureBefore === null ? '' : `: capture before ${dayText(captureBefore)}`;
    return { text: `Authorised${until}`, tone: 'warn' };
  }
  return plainTexts[status];
}

/** Undefined if the dispute is over in favour of the company. */
function disputeStatus({ dispute }: Pick<Payment, 'dispute'>): StatusText | undefined {
  if (dispute === null) return undefined;
  const { status, evidenceDueBy } = dispute;
  if (status === 'won' || status === 'warning_closed') return undefined;
  if (status === 'lost') return { text: 'Dispute lost', tone: 'bad' };
  if (!status.endsWith('needs_response')) return { text: `Disputed: ${lower(status)}`, tone: 'warn' };
  const until = evidenceDueBy === null ? 'evidence needed' : `evidence due ${dayText(evidenceDueBy)}`;
  return { text: `Disputed: ${until}`, tone: 'bad' };
}

function lower(code: string): string {
  return words(code).toLowerCase();
}
