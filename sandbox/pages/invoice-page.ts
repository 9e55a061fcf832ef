import { collectInvoice, methodFor } from '../billing/collect.ts';
import { intentOf } from '../billing/invoice-payment.ts';
import { authenticationUrl, keepDecline } from '../control/customer.ts';
import { priceText } from '../payments/money.ts';
import { cardError } from '../payments/payment-intent.ts';
import type { Store } from '../state/store.ts';
import type { Invoice, PaymentIntent, PaymentMethod } from '../wire/objects.ts';
import type { ControlResponse } from '../wire/server.ts';
import { WireError } from '../wire/wire-error.ts';
import type { World } from '../worlds/world.ts';
import { cardChoice, chosenMethod } from './card-choice.ts';
import { type Html, html, page, seeOther } from './page.ts';
import { day } from './texts.ts';

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
${invoiceLines(invoice, 'What it is for')}
${payment(world, invoice, refusal)}
<p class="screen"><a href="${world.basePath}/sandbox/invoices/${invoice.id}/pdf">Download the PDF</a></p>`,
  });
}

/** The payment intent with which an invoice can still be paid. */
function payableIntent(store: Store, invoice: Invoice): PaymentIntent | undefined {
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

/** The lines and the sums of an invoice. */
export function invoiceLines(invoice: Invoice, caption: string): Html {
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
<caption>${caption}</caption>
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
${cardChoice(savedCards(store, invoice))}
<button class="main">Pay ${amount}</button>
</form>
</section>`;
}

/** The cards of the customer. The one that is charged automatically comes first. */
function savedCards(store: Store, invoice: Invoice): PaymentMethod[] {
  const standard = methodFor(store, invoice);
  const saved = invoice.customer === null ? [] : store.paymentMethods.allWithin('customer', invoice.customer);
  return [...(standard === undefined ? [] : [standard]), ...saved.filter(({ id }) => id !== standard?.id)];
}

/**
 * Pays an invoice on its page, as the customer would. Then shows the invoice, or the bank's page. The invoice page
 * shows why a card was declined.
 */
export async function payInvoice(world: World, invoice: Invoice, body: string): Promise<ControlResponse> {
  const { store } = world;
  const address = `${world.basePath}/sandbox/invoices/${encodeURIComponent(invoice.id)}`;
  if (payableIntent(store, invoice) === undefined) return seeOther(address);
  try {
    await world.act(store.invoices, invoice.id, () => keepDecline(() => attempt(world, invoice, body)));
  } catch (error) {
    if (error instanceof WireError) return invoicePage(world, invoice, error.message);
    throw error;
  }
  const intent = payableIntent(store, store.invoices.get(invoice.id) ?? invoice);
  const bank = intent === undefined ? null : authenticationUrl(intent);
  return seeOther(bank ?? address);
}

function attempt(world: World, invoice: Invoice, body: string): void {
  const { store } = world;
  const failure = collectInvoice(store, invoice, {
    offSession: false,
    isManual: true,
    returnUrl: invoice.hosted_invoice_url ?? undefined,
    method: chosenMethod(store, new URLSearchParams(body), invoice.customer) ?? undefined,
  });
  if (failure !== null) throw cardError(failure);
}
