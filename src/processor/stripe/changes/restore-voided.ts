import { hasEnded, type SubscriptionFacts } from '#core/model/subscription.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { nullIfMissing } from '../wire/responses.ts';
import { WireObject } from '../wire/wire-object.ts';
import {
  mapVoidedInvoice,
  restoredReasons,
  type VoidedInvoice,
  voidedExpansions,
  voidedExpansionsInList,
} from './map-voided-invoice.ts';
import { restoreDiscounts } from './restore-discounts.ts';
import { hasWaited, isOfCustomer, restoreWaitingItems } from './waiting-items.ts';

/** A request that dies is repeated or looked up within minutes, so few invoices are voided after its own. */
const voidedInvoicesMax = 10;

/**
 * Restores what a voided invoice has taken and the processor does not give back: the invoice items that had waited for
 * it, and then the discounts for one invoice. The processor gives back the customer's balance itself.
 */
export async function restoreVoided(context: AdapterContext, invoiceId: string): Promise<void> {
  const invoice = await readVoided(context, invoiceId);
  // Until the invoice is void, the customer can pay it.
  if (invoice?.status !== 'void') return;
  await restoreWaitingItems(context, invoice, hasWaited);
  await restoreDiscounts(context, invoice, 'all');
}

/**
 * Restores what the recently voided invoices of a subscription have taken, because the process that voided them may
 * have died. A subscription that has ended has no next invoice, so only what another invoice of the customer can use is
 * restored.
 */
export async function restoreOfVoidedInvoices(
  context: AdapterContext,
  {
    processorSubscriptionId: subscription,
    status,
  }: Pick<SubscriptionFacts, 'processorSubscriptionId' | 'status'>,
): Promise<void> {
  const { stripe, call } = context;
  const isOver = hasEnded(status);
  const voided = await call.read('invoices.list', {
    send: (options) =>
      stripe.invoices.list(
        { subscription, status: 'void', limit: voidedInvoicesMax, expand: [...voidedExpansionsInList] },
        options,
      ),
    take: (response, asOf) =>
      WireObject.parse(response, 'list')
        .array('data')
        .filter((value) =>
          restoredReasons.includes(WireObject.parse(value, 'invoice').optionalText('billing_reason')),
        )
        .map((value) => mapVoidedInvoice(value, asOf)),
  });
  for (const invoice of voided) {
    await restoreWaitingItems(context, invoice, isOver ? isOfCustomer : hasWaited);
    if (invoice.onceDiscounts.length === 0) continue;
    const whole = await readVoided(context, invoice.processorInvoiceId);
    if (whole !== null) await restoreDiscounts(context, whole, isOver ? 'ofCustomer' : 'all');
  }
}

/** Null if the processor does not know the invoice. */
export function readVoided(
  { stripe, call }: AdapterContext,
  invoiceId: string,
): Promise<VoidedInvoice | null> {
  return call.read('invoices.read', {
    send: (options) => stripe.invoices.retrieve(invoiceId, { expand: [...voidedExpansions] }, options),
    take: mapVoidedInvoice,
    refused: nullIfMissing,
  });
}
