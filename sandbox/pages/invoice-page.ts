import { methodFor } from '../billing/collect.ts';
import { intentOf } from '../billing/invoice-payment.ts';
import { authenticationUrl } from '../control/customer.ts';
import { priceText } from '../payments/money.ts';
import { describeTestCard, testCards } from '../payments/test-cards.ts';
import type { Store } from '../state/store.ts';
import type { Invoice, PaymentIntent } from '../wire/objects.ts';
import type { ControlResponse } from '../wire/server.ts';
import type { World } from '../worlds/world.ts';
import { cardName } from './card-name.ts';
import { type Html, html } from './html.ts';
import { page } from './page.ts';

export const unknownInvoice = page({
  status: 404,
  title: 'Not found',
  content: html`<p>There is no such invoice, or it is not final yet.</p>`,
});

/** The page at `hosted_invoice_url`. */
export function invoicePage(world: World, invoice: Invoice, refusal: string | null = null): ControlResponse {
  const amount = priceText(
    invoice.status === 'paid' ? invoice.amount_paid : invoice.amount_remaining,
    invoice.currency,
  );
  return page({
    status: refusal === null ? 200 : 400,
    title: `Invoice ${invoice.number ?? invoice.id}`,
    content: html`<p class="amount">${amount}</p>
<p>${stateText(invoice, world.store.now())}</p>
${facts(invoice)}
${lines(invoice)}
${payment(world, invoice, refusal)}
<p class="screen"><a href="${world.basePath}/sandbox/invoices/${invoice.id}/pdf">Download the PDF</a></p>`,
  });
}

/** The payment intent with which an invoice can still be paid. */
export function payableIntent(store: Store, invoice: Invoice): PaymentIntent | undefined {
  if (invoice.status !== 'open' && invoice.status !== 'uncollectible') return undefined;
  const intent = intentOf(store, invoice);
  return intent?.status === 'canceled' ? undefined : intent;
}

/** The status as the customer reads it. */
export function stateText(invoice: Invoice, now: number): string {
  const { status, due_date: dueDate, next_payment_attempt: nextAttempt, status_transitions: times } = invoice;
  const on = (at: number | null) => (at === null ? '' : ` on ${day(at)}`);
  if (status === 'paid') return `Paid${on(times.paid_at)}.`;
  if (status === 'void') return `Void${on(times.voided_at)}. No payment is due.`;
  if (status === 'uncollectible') return 'Uncollectible: the merchant no longer expects a payment.';
  if (dueDate !== null)
    return now > dueDate ? `Open, overdue since ${day(dueDate)}.` : `Open, due on ${day(dueDate)}.`;
  return nextAttempt === null
    ? 'Open, due now.'
    : `Open, due now. The card is charged again on ${day(nextAttempt)}.`;
}

const dayFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

function day(at: number): string {
  return dayFormat.format(at * 1_000);
}

export function buyerText({ customer_name: name, customer_email: email }: Invoice): string {
  const buyer = [name, email].filter((text) => text !== null).join(', ');
  return buyer === '' ? 'A customer without a name' : buyer;
}

function facts(invoice: Invoice): Html {
  const issued = invoice.effective_at ?? invoice.created;
  return html`<dl>
<dt>Number</dt><dd>${invoice.number ?? invoice.id}</dd>
<dt>Status</dt><dd>${invoice.status ?? ''}</dd>
<dt>From</dt><dd>${invoice.account_name ?? ''}</dd>
<dt>To</dt><dd>${buyerText(invoice)}</dd>
<dt>Issued</dt><dd><time datetime="${new Date(issued * 1_000).toISOString()}">${day(issued)}</time></dd>
${invoice.description === null ? null : html`<dt>Memo</dt><dd>${invoice.description}</dd>`}
</dl>`;
}

function lines(invoice: Invoice): Html {
  const rows = invoice.lines.data.map(
    (
      line,
    ) => html`<tr><th scope="row">${line.description ?? 'Item'}</th><td>${line.quantity ?? 1}</td><td>${priceText(line.amount, invoice.currency)}</td></tr>
`,
  );
  const sums = sumsOf(invoice).map(
    ([
      name,
      amount,
    ]) => html`<tr><th scope="row" colspan="2">${name}</th><td>${priceText(amount, invoice.currency)}</td></tr>
`,
  );
  return html`<table>
<caption>What it is for</caption>
<thead><tr><th scope="col">Item</th><th scope="col">Quantity</th><th scope="col">Amount</th></tr></thead>
<tbody>
${rows}</tbody>
<tfoot>
${sums}</tfoot>
</table>`;
}

/** The sums below the lines. The last one is the amount to pay. */
export function sumsOf(invoice: Invoice): readonly (readonly [string, number])[] {
  const discount = invoice.subtotal - invoice.total;
  const balance = invoice.amount_due - invoice.total;
  return [
    ...(discount === 0 ? [] : [['Subtotal', invoice.subtotal] as const, ['Discount', -discount] as const]),
    ['Total', invoice.total],
    ...(balance === 0 ? [] : [['Customer balance', balance] as const]),
    ['Amount due', invoice.amount_due],
  ];
}

function payment({ store, basePath }: World, invoice: Invoice, refusal: string | null): Html | null {
  const intent = payableIntent(store, invoice);
  if (intent === undefined) return null;
  const failure = refusal ?? intent.last_payment_error?.message ?? null;
  const waitsAt = authenticationUrl(intent);
  const amount = priceText(invoice.amount_remaining, invoice.currency);
  return html`<section aria-labelledby="pay">
<h2 id="pay">Pay</h2>
${failure === null ? null : html`<p class="failed" role="alert">The payment failed. ${failure}</p>`}
${waitsAt === null ? null : html`<p>The last payment waits for your bank. <a href="${waitsAt}">Confirm it</a>, or pay with another card.</p>`}
<form method="post" action="${basePath}/sandbox/invoices/${invoice.id}">
<label>Card
<select name="payment_method">${savedCards(store, invoice)}<optgroup label="Test cards">${testCardOptions}</optgroup></select>
</label>
<button class="main">Pay ${amount}</button>
</form>
</section>`;
}

/** The cards of the customer. The one that is charged automatically comes first. */
function savedCards(store: Store, invoice: Invoice): Html | null {
  const standard = methodFor(store, invoice);
  const saved = invoice.customer === null ? [] : store.paymentMethods.allWithin('customer', invoice.customer);
  const cards = [
    ...(standard === undefined ? [] : [standard]),
    ...saved.filter(({ id }) => id !== standard?.id),
  ];
  if (cards.length === 0) return null;
  return html`<optgroup label="Saved cards">${cards.map((method) => html`<option value="${method.id}">${cardName(method)}</option>`)}</optgroup>`;
}

const testCardOptions = testCards.map(
  (card) =>
    html`<option value="${card.tokens[0] ?? ''}">${card.number.replaceAll(/(.{4})(?=.)/g, '$1 ')}: ${describeTestCard(card)}</option>`,
);
