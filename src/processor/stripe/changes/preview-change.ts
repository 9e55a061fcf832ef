import type { AsOf } from '#core/model/facts.ts';
import type { ChangePreview, PreviewLine, SubscriptionChangeCalls } from '../../port/subscription-changes.ts';
import { hasMoreLines, mapLine, readLines } from '../objects/invoice-lines.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { done, missing, refused } from '../wire/responses.ts';
import { WireObject } from '../wire/wire-object.ts';
import { changeParams } from './change-now.ts';
import { billedParams, type InvoiceItem } from './map-invoice-item.ts';
import type { VoidedInvoice } from './map-voided-invoice.ts';
import { type DiscountParam, discountsAfterVoid } from './restore-discounts.ts';
import { readVoided } from './restore-voided.ts';
import { listLost, listWaited } from './waiting-items.ts';

type Preview = SubscriptionChangeCalls['preview'];
type PreviewedChange = Exclude<Parameters<Preview>[0], { resumes: true }>;

/** A preview. Its other lines are still to be read, unless the invoice shows all lines. */
interface Previewed extends Omit<ChangePreview, 'lines'> {
  readonly id: string;
  readonly shown: readonly PreviewLine[] | null;
}

export async function previewChange(
  context: AdapterContext,
  change: Parameters<Preview>[0],
): ReturnType<Preview> {
  const { stripe, call } = context;
  const invoiceId = 'resumes' in change ? null : droppedInvoiceOf(change.found);
  const dropped = invoiceId === null ? nothing : await readDropped(context, invoiceId);
  const previewWith = (discounts: DiscountParam[] | null) =>
    call.read('invoices.preview', {
      send: (options) =>
        stripe.invoices.createPreview(
          {
            subscription: change.processorSubscriptionId,
            subscription_details: 'resumes' in change ? { resume_at: 'now' } : previewParams(change),
            ...(dropped.items.length === 0 ? {} : { invoice_items: dropped.items.map(billedParams) }),
            ...(discounts === null ? {} : { discounts }),
          },
          options,
        ),
      take: (response, asOf) => done<Previewed | null>(mapPreview(response, asOf, dropped.returnedBalance)),
      refused: (refusal) => {
        if (refusal.code === 'invoice_upcoming_none') return done(null);
        if (refusal.param?.startsWith('discounts') === true) return refused('wrong_state', refusal);
        return missing(refusal);
      },
    });
  const { voided } = dropped;
  const first = voided === null ? null : await discountsAfterVoid(context, voided, 'first');
  let attempt = await previewWith(first);
  // A code that cannot be redeemed again is restored by a coupon of Till.
  if (voided !== null && first !== null && attempt.outcome === 'wrong_state')
    attempt = await previewWith(await discountsAfterVoid(context, voided, 'till'));
  if (attempt.outcome !== 'done') return attempt;
  if (attempt.value === null) return done(null);
  const { id, shown, ...preview } = attempt.value;
  const lines = shown ?? (await readLines(context, id)).map(mapLine);
  return done({ ...preview, lines });
}

/**
 * Without items, the processor previews what a schedule plans. The change drops the planned items, so the preview names
 * those that stay.
 */
function previewParams(change: PreviewedChange) {
  const { items, processorPlanningId } = change.found;
  const params = changeParams(change);
  if (change.items.length > 0 || processorPlanningId === null) return params;
  const kept = items.map(({ processorItemId: id, quantity }) => ({
    id,
    // The processor refuses a quantity of a metered price.
    ...(quantity === null ? {} : { quantity }),
  }));
  return { ...params, items: kept };
}

/** The amount that the void invoice of a dropped change returns to the customer. */
interface Dropped {
  /** The restored items, the oldest first. */
  readonly items: readonly InvoiceItem[];
  /** The change of the customer's balance. A credit is negative. */
  readonly returnedBalance: number;
  /** The invoice, if it has used up discounts that are restored. */
  readonly voided: VoidedInvoice | null;
}

const nothing: Dropped = { items: [], returnedBalance: 0, voided: null };

/**
 * The invoice that the change would first void. If there is none, the void invoice whose items and discounts it would
 * first restore.
 */
function droppedInvoiceOf({ changeInvoiceId, unrestoredInvoiceId }: PreviewedChange['found']): string | null {
  return changeInvoiceId ?? unrestoredInvoiceId;
}

/** The change drops the waiting one, so its invoice also bills what the invoice of the waiting change has taken. */
async function readDropped(context: AdapterContext, invoiceId: string): Promise<Dropped> {
  const voided = await readVoided(context, invoiceId);
  if (voided === null) return nothing;
  const { status, returnedBalance } = voided;
  // Its items may be restored already, and the processor has returned the balance.
  if (status === 'void') return { voided, returnedBalance: 0, items: await listLost(context, voided) };
  // The invoice was paid meanwhile.
  if (status !== 'open' && status !== 'uncollectible') return nothing;
  return { voided, returnedBalance, items: (await listWaited(context, invoiceId)).toReversed() };
}

function mapPreview(value: unknown, asOf: AsOf, returnedBalance: number): Previewed {
  const invoice = WireObject.parse(value, 'invoice').expectKind('invoice');
  const details = invoice.optional('object', 'parent')?.optional('object', 'subscription_details');
  return {
    id: invoice.id(),
    amountDue: amountDueOf(invoice, returnedBalance),
    prorationDate: details?.optional('moment', 'subscription_proration_date') ?? null,
    now: invoice.createdAt(asOf.latest),
    shown: hasMoreLines(invoice) ? null : invoice.list('lines').map(mapLine),
  };
}

/** The processor can preview an invoice with other items, but not with another balance of the customer. */
function amountDueOf(invoice: WireObject, returnedBalance: number): number {
  if (returnedBalance === 0) return invoice.wholeNumber('amount_due');
  const balance = invoice.wholeNumber('starting_balance') + returnedBalance;
  return Math.max(0, invoice.wholeNumber('total') + balance);
}
