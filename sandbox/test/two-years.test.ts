import assert from 'node:assert/strict';
import { test } from 'node:test';
import { customerAndPrice, incompleteSubscription, useSandbox } from './support.ts';

/** The next 31 January at noon that lies ahead. */
function nextJanuary31(afterSeconds: number): number {
  const year = new Date(afterSeconds * 1_000).getUTCFullYear();
  const candidates = [year, year + 1].map((candidate) => Date.UTC(candidate, 0, 31, 12) / 1_000);
  return candidates.find((candidate) => candidate > afterSeconds + 60) ?? 0;
}

/** Renewals by plain date arithmetic, independent of the sandbox's own: the days on which money is due. */
function renewalsBetween(start: number, end: number, interval: 'week' | 'month' | 'year'): number[] {
  const due: number[] = [];
  const from = new Date(start * 1_000);
  for (let count = 0; ; count++) {
    let at: number;
    if (interval === 'week') at = start + count * 7 * 86_400;
    else {
      const month = new Date(Date.UTC(from.getUTCFullYear(), interval === 'month' ? count : 12 * count, 1));
      const lastDay = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 0)).getUTCDate();
      at = Date.UTC(month.getUTCFullYear(), month.getUTCMonth(), Math.min(31, lastDay), 12) / 1_000;
    }
    if (at >= end) return due;
    due.push(at);
  }
}

test('two years of a subscription from 31 January bring as many invoices and as much money as arithmetic says', async (t) => {
  const { stripe, advance, control } = await useSandbox(t);
  const now = Math.floor(Date.now() / 1_000);
  const start = nextJanuary31(now);
  await control('POST', 'clock', { to: start });

  const subscriptions = [];
  for (const interval of ['week', 'month', 'year'] as const) {
    const { customer, price } = await customerAndPrice(stripe, { unit_amount: 1_999, interval });
    const { subscription, intentId } = await incompleteSubscription(stripe, customer.id, price.id);
    await stripe.paymentIntents.confirm(intentId, { payment_method: 'pm_card_visa' });
    subscriptions.push({ interval, id: subscription.id, created: subscription.created });
  }
  // Two years less a few hours: the last renewals have been collected, the next ones are not yet due.
  const end = start + 2 * 365 * 86_400 - 6 * 3_600;
  await advance(end - start - 60);

  for (const { interval, id, created } of subscriptions) {
    // Creating the three took a moment, so each has an anchor some seconds past noon.
    const expected = renewalsBetween(start, end, interval).map((at) => at + created - start);
    const invoices = await stripe.invoices
      .list({ subscription: id, limit: 100 })
      .autoPagingToArray({ limit: 1_000 });
    assert.deepEqual(invoices.map((invoice) => invoice.created).reverse(), expected, interval);
    assert.ok(invoices.every((invoice) => invoice.status === 'paid'));
    const sum = invoices.reduce((total, invoice) => total + invoice.amount_paid, 0);
    assert.equal(sum, expected.length * 1_999, interval);
    const charges = await stripe.charges
      .list({ limit: 100, customer: String(invoices[0]?.customer) })
      .autoPagingToArray({ limit: 1_000 });
    assert.equal(
      charges.reduce((total, charge) => total + charge.amount, 0),
      sum,
      interval,
    );
  }
});
