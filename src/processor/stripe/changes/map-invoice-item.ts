import type { Stripe } from 'stripe';
import { fieldsOf } from '../wire/wire-metadata.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';

/** A charge or a credit that waits for an invoice, or that an invoice bills. */
export type InvoiceItem = ReturnType<typeof mapInvoiceItem>;

/** The metadata key of an item that was waiting for an invoice before a change was billed. */
const waitedKey = 'till_waited';
/** The metadata key under which an item names the one that it restores. */
const restoresKey = 'till_restores';

/** The metadata that marks a waiting item. */
export const waitedMark = { [waitedKey]: 'true' };

export function mapInvoiceItem(value: unknown) {
  const item = WireObject.parse(value, 'invoiceitem').expectKind('invoiceitem');
  const period = item.object('period');
  const texts = Object.entries(fieldsOf(item) ?? {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  const { [waitedKey]: waited, [restoresKey]: restores, ...metadata } = Object.fromEntries(texts);
  return {
    processorInvoiceItemId: item.id(),
    processorCustomerId: item.reference('customer'),
    /** Only invoices of this subscription bill the item. Null if any invoice of the customer does. */
    processorSubscriptionId: subscriptionOf(item),
    /** Negative for a credit. */
    amount: item.wholeNumber('amount'),
    currency: item.currency('currency'),
    description: item.optionalText('description'),
    discountable: item.flag('discountable'),
    periodStart: period.moment('start'),
    periodEnd: period.moment('end'),
    taxRateIds: (ifReadable(() => item.objects('tax_rates')) ?? []).map((rate) => rate.id()),
    metadata,
    /** Marked as an item that was waiting for an invoice. An item that restores another one needs no mark. */
    waited: waited !== undefined,
    /** The processor's id of the item that this item bills again, because its invoice was voided. */
    restores: restores ?? null,
  };
}

function subscriptionOf(item: WireObject): string | null {
  const parent = item.objectOrNull('parent');
  const details = parent?.objectOrNull('subscription_details') ?? null;
  return details?.reference('subscription') ?? null;
}

/** The parameters of a new item that bills the same. An item with an amount has neither a price nor a quantity. */
export function restoredItemParams(item: InvoiceItem): Stripe.InvoiceItemCreateParams {
  return {
    customer: item.processorCustomerId,
    ...(item.processorSubscriptionId === null ? {} : { subscription: item.processorSubscriptionId }),
    ...billedParams(item),
    metadata: { ...item.metadata, [restoresKey]: item.processorInvoiceItemId },
  };
}

/** The parameters of an item of a preview that bills the same. */
export function billedParams(item: InvoiceItem) {
  return {
    amount: item.amount,
    currency: item.currency,
    ...(item.description === null ? {} : { description: item.description }),
    discountable: item.discountable,
    period: { start: item.periodStart.getTime() / 1_000, end: item.periodEnd.getTime() / 1_000 },
    ...(item.taxRateIds.length === 0 ? {} : { tax_rates: [...item.taxRateIds] }),
  } satisfies Stripe.InvoiceItemCreateParams | Stripe.InvoiceCreatePreviewParams.InvoiceItem;
}
