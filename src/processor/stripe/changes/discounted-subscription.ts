import type { AdapterContext } from '../wire/adapter-context.ts';
import { nullIfMissing } from '../wire/attempt.ts';
import { fieldsOf } from '../wire/wire-metadata.ts';
import { ifReadable, WireObject } from '../wire/wire-object.ts';
import { restoredDiscountOf } from './map-voided-invoice.ts';

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

export function restoredInvoicesOf(object: WireObject): readonly string[] {
  const ids = fieldsOf(object)?.[restoredInvoicesKey];
  return typeof ids === 'string' ? ids.split(' ') : [];
}

/** The metadata that records the restored discounts of an invoice, in the call that restores them. */
export function restoredMetadata(restored: readonly string[], invoiceId: string): Record<string, string> {
  return { [restoredInvoicesKey]: [invoiceId, ...restored].slice(0, restoredInvoicesMax).join(' ') };
}
