import type { Payment } from '@till/client';
import { paymentStatus, type Tone } from '../format/status-text.ts';
import { words } from '../format/words.ts';

/** What a status means for an operator. Anything else is neutral. */
const tones: Readonly<Record<string, Tone>> = {
  succeeded: 'good',
  active: 'good',
  paid: 'good',
  processed: 'good',
  completed: 'good',
  won: 'good',
  trialing: 'busy',
  processing: 'busy',
  pending: 'busy',
  open: 'busy',
  requires_action: 'warn',
  requires_payment_method: 'warn',
  requires_confirmation: 'warn',
  partially_refunded: 'warn',
  incomplete: 'warn',
  past_due: 'bad',
  unpaid: 'bad',
  failed: 'bad',
  uncollectible: 'bad',
  lost: 'bad',
  needs_response: 'bad',
};

export function Status({
  value,
  tone = tones[value] ?? 'done',
}: {
  readonly value: string;
  readonly tone?: Tone;
}) {
  return <span class={`status ${tone}`}>{words(value)}</span>;
}

export function PaymentStatus({ of }: { readonly of: Payment }) {
  const { text, tone } = paymentStatus(of);
  return <span class={`status ${tone}`}>{text}</span>;
}
