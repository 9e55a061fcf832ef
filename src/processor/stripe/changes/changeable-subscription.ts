import type { AsOf } from '#core/model/facts.ts';
import { objectMissing } from '../../port/attempt.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import type { ChangeableItem, ChangeableSubscription } from '../../port/subscription-changes.ts';
import { mapSubscription, quantityOf, termExpansions } from '../objects/map-subscription.ts';
import { readSubscription } from '../objects/read-subscription.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { nullIfMissing } from '../wire/responses.ts';
import { fieldsOf } from '../wire/wire-metadata.ts';
import { ifReadable, noLinks, WireObject, withKnownLinks } from '../wire/wire-object.ts';
import { mapVoidedInvoice, restoredDiscountOf, restoredReasons } from './map-voided-invoice.ts';
import { isScheduleSpent } from './schedule-phases.ts';

export async function readChangeable(
  context: AdapterContext,
  processorSubscriptionId: string,
): Promise<ChangeableSubscription> {
  const found = await readSubscription(context, processorSubscriptionId, {
    expand: termExpansions,
    map: mapChangeable,
  });
  if (found === null) throw objectMissing('subscription');
  return found;
}

export function mapChangeable(value: unknown, asOf: AsOf): ChangeableSubscription {
  const subscription = WireObject.parse(value, 'subscription');
  const facts = mapSubscription(withKnownLinks(value, noLinks), asOf);
  const { status, cancelAt, cancelAtPeriodEnd } = facts;
  const isPaused = subscription.text('status') === 'paused';
  const items = itemsOf(subscription, facts.items);
  const processorScheduleId = subscription.optional('reference', 'schedule');
  const pendingUpdate = pendingUpdateOf(subscription);
  return {
    subscription: facts,
    isPaused,
    currency: subscription.currency('currency'),
    items,
    changeInvoiceId: pendingUpdate?.processorInvoiceId ?? null,
    unrestoredInvoiceId: unrestoredInvoiceOf(subscription),
    processorPlanningId: processorScheduleId,
    isPlanningSpent: processorScheduleId !== null && isScheduleSpent(subscription),
    changeMarks: changeMarksOf(subscription),
    waitingMarks: pendingUpdate?.changeMarks ?? [],
    state: JSON.stringify({
      ...{ status, isPaused, cancelAt, cancelAtPeriodEnd, items, processorScheduleId, pendingUpdate },
    }),
  };
}

function itemsOf(
  subscription: WireObject,
  facts: ChangeableSubscription['subscription']['items'],
): ChangeableSubscription['items'] {
  const wireItems = subscription.list('items');
  const [first, ...others] = facts.map((item) => {
    const wireItem = wireItems.find((one) => one.id() === item.processorItemId);
    if (wireItem === undefined)
      throw new UnmappableError(`subscription.items has no ${item.processorItemId}`);
    return { ...item, ...costOf(wireItem.object('price')) };
  });
  if (first === undefined) throw new UnmappableError('subscription.items.data[0] is missing');
  return [first, ...others];
}

function costOf(price: WireObject): Pick<ChangeableItem, 'interval' | 'unitAmount'> {
  const recurring = price.object('recurring');
  return {
    interval: `${recurring.wholeNumber('interval_count')} ${recurring.text('interval')}`,
    unitAmount: price.optional('wholeNumber', 'unit_amount'),
  };
}

/** The change that was billed and waits for its payment. */
function pendingUpdateOf(subscription: WireObject) {
  const update = subscription.optional('object', 'pending_update');
  if (update === null) return null;
  const items = ifReadable(() =>
    update.objects('subscription_items').map((item) => ({
      processorPriceId: item.reference('price'),
      quantity: quantityOf(item),
    })),
  );
  return {
    // The processor bills a pending update with the latest invoice. Paying it applies the change, voiding it drops the
    // change.
    processorInvoiceId: subscription.optional('reference', 'latest_invoice'),
    items: items ?? [],
    changeMarks: changeMarksOf(update),
  };
}

/** The latest invoice, if it is the void invoice of a change and has used up a discount that is not restored yet. */
function unrestoredInvoiceOf(subscription: WireObject): string | null {
  const latest = subscription.optional('object', 'latest_invoice');
  if (latest === null || latest.optionalText('status') !== 'void') return null;
  if (!restoredReasons.includes(latest.optionalText('billing_reason'))) return null;
  const { processorInvoiceId, onceDiscounts } = mapVoidedInvoice(subscription.raw('latest_invoice'));
  const isRestored = restoredInvoicesOf(subscription).includes(processorInvoiceId);
  return onceDiscounts.length > 0 && !isRestored ? processorInvoiceId : null;
}

/** The metadata key under which a subscription carries the marks of its changes. */
export const changeMarksKey = 'till_changes';

function changeMarksOf(object: WireObject): readonly string[] {
  const marks = fieldsOf(object)?.[changeMarksKey];
  return typeof marks === 'string' ? marks.split(' ') : [];
}

/** A subscription with the current discounts of itself and its customer. */
export interface DiscountedSubscription {
  readonly processorSubscriptionId: string;
  readonly hasPendingUpdate: boolean;
  readonly discounts: readonly CurrentDiscount[];
  readonly restoredInvoices: readonly string[];
  readonly customer: {
    readonly id: string;
    readonly discount: CurrentDiscount | null;
    readonly restoredInvoices: readonly string[];
  } | null;
}

interface CurrentDiscount {
  readonly id: string;
  readonly couponId: string | null;
  /** The discount that its coupon restores. */
  readonly restores: string | null;
}

/** Null if the processor does not know the subscription. */
export function readDiscounted(
  { stripe, call }: AdapterContext,
  processorSubscriptionId: string,
): Promise<DiscountedSubscription | null> {
  return call.read('subscriptions.read', {
    send: (options) =>
      stripe.subscriptions.retrieve(
        processorSubscriptionId,
        { expand: ['discounts.source.coupon', 'customer.discount.source.coupon'] },
        options,
      ),
    take: (response) => {
      const subscription = WireObject.parse(response, 'subscription').expectKind('subscription');
      const customer = subscription.object('customer');
      const discount = customer.isDeleted() ? null : customer.optional('object', 'discount');
      return {
        processorSubscriptionId,
        hasPendingUpdate: subscription.optional('object', 'pending_update') !== null,
        discounts: subscription.objects('discounts').map(mapCurrent),
        restoredInvoices: restoredInvoicesOf(subscription),
        customer: customer.isDeleted()
          ? null
          : {
              id: customer.id(),
              discount: discount === null ? null : mapCurrent(discount),
              restoredInvoices: restoredInvoicesOf(customer),
            },
      };
    },
    refused: nullIfMissing,
  });
}

function mapCurrent(discount: WireObject): CurrentDiscount {
  const coupon = ifReadable(() => discount.object('source').object('coupon'));
  return {
    id: discount.id(),
    couponId: coupon?.id() ?? null,
    restores: coupon === null ? null : restoredDiscountOf(coupon),
  };
}

/**
 * The metadata key under which a subscription or a customer lists the voided invoices whose discounts were restored.
 */
const restoredInvoicesKey = 'till_restored';

/**
 * The number of voided invoices that Till checks after a process may have died. Their ids fit into one metadata value.
 */
const restoredInvoicesMax = 10;

function restoredInvoicesOf(object: WireObject): readonly string[] {
  const ids = fieldsOf(object)?.[restoredInvoicesKey];
  return typeof ids === 'string' ? ids.split(' ') : [];
}

/** The metadata that records the restored discounts of an invoice, in the call that restores them. */
export function restoredMetadata(restored: readonly string[], invoiceId: string): Record<string, string> {
  return { [restoredInvoicesKey]: [invoiceId, ...restored].slice(0, restoredInvoicesMax).join(' ') };
}
