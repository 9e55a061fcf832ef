import type { Backend } from './backend.ts';

export interface BilledSubscription {
  readonly processorSubscriptionId: string;
}

/** Everything that the processor billed for a subscription, or will bill with its next invoice. */
export async function billed(
  { stripe }: Pick<Backend, 'stripe'>,
  { processorSubscriptionId: subscription }: BilledSubscription,
) {
  const { customer } = await stripe.subscriptions.retrieve(subscription);
  const invoices = await stripe.invoices.list({ subscription, limit: 100, expand: ['data.lines'] });
  const waiting = await stripe.invoiceItems.list({ customer: String(customer), pending: true, limit: 100 });
  return {
    invoices: invoices.data
      .map(({ billing_reason: reason, status, total, amount_paid: paid, lines }) => ({
        ...{ reason, status, total, paid },
        lines: lines.data.map(({ amount }) => amount).toSorted((a, b) => a - b),
      }))
      .toReversed(),
    waiting: waiting.data.map(({ amount }) => amount).toSorted((a, b) => a - b),
  };
}
