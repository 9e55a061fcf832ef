import type { AdapterContext } from '../wire/adapter-context.ts';
import { fetchPages } from '../wire/listing.ts';
import { WireObject } from '../wire/wire-object.ts';

/** A thousand lines: an invoice has at most 250 of its own, and some more for changes within the period. */
const linePagesMax = 10;

/** Whether an invoice shows only its first ten lines. */
export function hasMoreLines(invoice: WireObject): boolean {
  return invoice.optional('object', 'lines')?.optional('flag', 'has_more') === true;
}

/** All lines of an invoice. The processor keeps those of a preview for three days. */
export async function readLines(
  context: AdapterContext,
  processorInvoiceId: string,
): Promise<readonly WireObject[]> {
  const { stripe } = context;
  const pages = fetchPages(
    context,
    'invoices.list_lines',
    (page, options) => stripe.invoices.listLineItems(processorInvoiceId, page, options),
    linePagesMax,
    (line) => WireObject.parse(line, 'line'),
  );
  return (await Array.fromAsync(pages)).flat();
}
