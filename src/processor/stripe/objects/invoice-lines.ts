import type { InvoiceLine } from '../../port/invoice-line.ts';
import type { InvoiceCalls } from '../../port/processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { fetchAll, takePage } from '../wire/listing.ts';
import { nullIfMissing } from '../wire/responses.ts';
import { WireObject } from '../wire/wire-object.ts';

/** A thousand lines: an invoice has at most 250 of its own, and some more for changes within the period. */
const linePagesMax = 10;

/** Whether an invoice shows only its first ten lines. */
export function hasMoreLines(invoice: WireObject): boolean {
  return invoice.optional('object', 'lines')?.optional('flag', 'has_more') === true;
}

/** One page of the lines. */
export function listLines(
  { stripe, call }: AdapterContext,
  { processorInvoiceId, limit, after = null }: Parameters<InvoiceCalls['listLines']>[0],
): ReturnType<InvoiceCalls['listLines']> {
  return call.read('invoices.list_lines', {
    send: (options) =>
      stripe.invoices.listLineItems(
        processorInvoiceId,
        { limit, ...(after === null ? {} : { starting_after: after }) },
        options,
      ),
    take: (response) => {
      const { items, next } = takePage(response, (line) => mapLine(WireObject.parse(line, 'line')));
      return { lines: items, next };
    },
    refused: nullIfMissing,
  });
}

/** Since 2025-03-31 the price is under `pricing`. Before, the line contained the price itself. */
export function mapLine(line: WireObject): InvoiceLine {
  const period = line.object('period');
  const parent = line.optional('object', 'parent');
  const details = line.has('parent') ? parent?.optional('object', parent.optionalText('type') ?? '') : line;
  const priced = line.has('pricing')
    ? line.optional('object', 'pricing')?.optional('object', 'price_details')
    : line;
  return {
    description: line.optionalText('description'),
    processorPriceId: priced?.optional('reference', 'price') ?? null,
    quantity: line.optional('wholeNumber', 'quantity'),
    amount: line.wholeNumber('amount'),
    currency: line.currency('currency'),
    periodStart: period.moment('start'),
    periodEnd: period.moment('end'),
    proration: details?.optional('flag', 'proration') ?? false,
  };
}

/** All lines of an invoice. The processor keeps those of a preview for three days. */
export function readLines(
  context: AdapterContext,
  processorInvoiceId: string,
): Promise<readonly WireObject[]> {
  return fetchAll(
    context,
    'invoices.list_lines',
    (page, options) => context.stripe.invoices.listLineItems(processorInvoiceId, page, options),
    (line) => WireObject.parse(line, 'line'),
    linePagesMax,
  );
}
