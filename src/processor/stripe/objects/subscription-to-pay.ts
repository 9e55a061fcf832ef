import type { AsOf } from '#core/model/facts.ts';
import type { SubscriptionInvoice, SubscriptionToPay } from '../../port/invoice-payment.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { clientSecretOf, nullIfMissing } from '../wire/responses.ts';
import { ifReadable, noLinks, WireObject, withKnownLinks } from '../wire/wire-object.ts';
import { mapInvoice } from './map-invoice.ts';
import { defaultOfSubscription } from './map-payment-method.ts';
import { mapSubscription, termExpansions } from './map-subscription.ts';
import { readSubscription } from './read-subscription.ts';

/** The processor's largest page: the invoices of eight years of a monthly plan, and of three months of a daily one. */
const invoicesMax = 100;

/**
 * Two reads, because the latest invoice of a subscription may not be the only unpaid one. The invoices are read first.
 * If one is paid between the reads, the status already includes that payment, and no older invoice is paid in its
 * place.
 */
export async function readToPay(context: AdapterContext, id: string): Promise<SubscriptionToPay | null> {
  const { stripe, call } = context;
  const invoices = await call.read('invoices.list', {
    send: (options) => stripe.invoices.list({ subscription: id, limit: invoicesMax }, options),
    take: (response, asOf) =>
      WireObject.parse(response, 'list')
        .array('data')
        .map((value) => mapSubscriptionInvoice(value, asOf)),
    refused: nullIfMissing,
  });
  if (invoices === null) return null;
  return readSubscription(context, id, {
    expand: ['pending_setup_intent', ...termExpansions],
    map: (response, asOf) => ({ ...mapToPay(response, asOf), invoices }),
  });
}

export function mapToPay(value: unknown, asOf: AsOf): Omit<SubscriptionToPay, 'invoices'> {
  const subscription = WireObject.parse(value, 'subscription');
  const isChanging = subscription.optional('object', 'pending_update') !== null;
  const setupIntent = subscription.optional('object', 'pending_setup_intent');
  return {
    subscription: mapSubscription(withKnownLinks(value, noLinks), asOf),
    isPaused: subscription.text('status') === 'paused',
    paymentMethodId: defaultOfSubscription(subscription),
    // The processor bills a change that waits for its payment with the latest invoice.
    changeInvoiceId: isChanging ? subscription.optional('reference', 'latest_invoice') : null,
    setupClientSecret: setupIntent && ifReadable(() => clientSecretOf(setupIntent)),
  };
}

export function mapSubscriptionInvoice(value: unknown, asOf: AsOf): SubscriptionInvoice {
  const invoice = WireObject.parse(value, 'invoice');
  const starts = (ifReadable(() => invoice.list('lines')) ?? []).flatMap(
    (line) => line.optional('object', 'period')?.optional('moment', 'start')?.getTime() ?? [],
  );
  return {
    processorInvoiceId: invoice.id(),
    status: invoice.optionalText('status'),
    isOneOff: invoice.optionalText('billing_reason') === 'manual',
    billsFrom: starts.length === 0 ? null : new Date(Math.min(...starts)),
    paidAt: invoice.optional('object', 'status_transitions')?.optional('moment', 'paid_at') ?? null,
    facts: ifReadable(() => mapInvoice(value, asOf)),
  };
}
