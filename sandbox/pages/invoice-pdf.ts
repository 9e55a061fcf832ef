import { priceText } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import type { Invoice } from '../wire/objects.ts';
import type { ControlResponse } from '../wire/server.ts';
import { buyerText, stateText, sumsOf } from './invoice-page.ts';
import { plainPdf } from './pdf.ts';

/** Characters of the fixed-width font that fit on a line. */
const columns = 72;
const amountColumns = 20;

/** The file at `invoice_pdf`: the contents of the invoice page as text. */
export function invoicePdf(store: Store, invoice: Invoice): ControlResponse {
  const { currency } = invoice;
  const row = (name: string, amount: number) => rowOf(name, priceText(amount, currency));
  const body = plainPdf([
    `Invoice ${invoice.number ?? invoice.id}`,
    '',
    ...wrap(stateText(invoice, store.now())),
    ...wrap(`From: ${invoice.account_name ?? ''} (a sandbox: no real money moves)`),
    ...wrap(`To: ${buyerText(invoice)}`),
    '',
    ...invoice.lines.data.flatMap((line) =>
      row(`${line.quantity ?? 1} x ${line.description ?? 'Item'}`, line.amount),
    ),
    '-'.repeat(columns),
    ...sumsOf(invoice).flatMap(([name, amount]) => row(name, amount)),
  ]);
  return { status: 200, body, headers: { 'content-type': 'application/pdf', 'cache-control': 'no-store' } };
}

/** The name on as many lines as it needs, with the amount at the end of the first line. */
function rowOf(name: string, amount: string): readonly string[] {
  const [first = '', ...others] = wrap(name, columns - amountColumns);
  return [`${first.padEnd(columns - amountColumns)}${amount.padStart(amountColumns)}`, ...others];
}

function wrap(text: string, width = columns): readonly string[] {
  return text.match(new RegExp(`.{1,${width}}`, 'gu')) ?? [''];
}
