import { noUpcoming, previewChange, previewResumption, upcomingInvoice } from '../billing/invoice-preview.ts';
import { asOfNextPeriod } from '../billing/phase-change.ts';
import { periodOf } from '../billing/subscription-items.ts';
import { existingCustomer } from '../payments/customer.ts';
import { mayUseOld } from '../wire/api-version.ts';
import type { Invoice, Subscription } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { missing, missingParam } from '../wire/wire-error.ts';
import { itemsParam, planFrom } from './subscription-item-changes.ts';
import { anchorParam, checkAnchor, prorationBehavior } from './subscription-params.ts';

const detailsParams = {
  billing_cycle_anchor: anchorParam,
  cancel_at_period_end: p.bool,
  items: itemsParam,
  proration_behavior: prorationBehavior,
  proration_date: p.integer(),
  resume_at: p.oneOf('now'),
};

type Details = Partial<p.Parsed<typeof detailsParams>>;

export const previewParams = {
  customer: p.text(),
  subscription: p.text(),
  subscription_details: p.object(detailsParams),
};

/** Shows the next invoice, with the change in the parameters. Stores nothing. */
export function preview(
  call: Call,
  params: Pick<p.Parsed<typeof previewParams>, 'customer' | 'subscription'> & {
    readonly subscription_details: Details | undefined;
  },
): Invoice {
  const { store } = call;
  const { subscription_details: details } = params;
  checkAnchor(call, details?.billing_cycle_anchor, 'subscription_details[billing_cycle_anchor]');
  const customer = params.customer === undefined ? null : existingCustomer(store, params.customer).id;
  if (params.subscription === undefined) return nextOf(call, customer, details);
  const found = store.subscriptions.existing(params.subscription, 'subscription');
  if (customer !== null && found.customer !== customer)
    throw missing('subscription', found.id, 'subscription');
  if (found.ended_at !== null) throw noUpcoming(found.customer);
  if (details?.resume_at !== undefined) return previewResumption(store, found);
  const before = details === undefined ? found : withCancellation(found, details.cancel_at_period_end);
  const plan = details === undefined ? null : planFrom(call, before, details, 'subscription_details[items]');
  if (plan === null) return upcomingInvoice(store, asOfNextPeriod(store, before));
  const invoice = previewChange(store, before, plan);
  return plan.prorations.length === 0
    ? invoice
    : withProrationDate(invoice, details?.proration_date ?? store.now());
}

/** The older form of a preview, which versions before 2025-03-31 have. */
export const upcomingParams = {
  ...previewParams,
  subscription_billing_cycle_anchor: anchorParam,
  subscription_cancel_at_period_end: p.bool,
  subscription_items: itemsParam,
  subscription_proration_behavior: prorationBehavior,
  subscription_proration_date: p.integer(),
  subscription_resume_at: p.oneOf('now'),
};

export function upcoming(call: Call, params: p.Parsed<typeof upcomingParams>): Invoice {
  if (!mayUseOld(call.version, 'invoicePayments')) throw missing('invoice', 'upcoming');
  const details = p.present({
    billing_cycle_anchor: params.subscription_billing_cycle_anchor,
    cancel_at_period_end: params.subscription_cancel_at_period_end,
    items: params.subscription_items,
    proration_behavior: params.subscription_proration_behavior,
    proration_date: params.subscription_proration_date,
    resume_at: params.subscription_resume_at,
  });
  const given = Object.keys(details).length === 0 ? undefined : details;
  return preview(call, { ...params, subscription_details: params.subscription_details ?? given });
}

function withCancellation(before: Subscription, cancels: boolean | undefined): Subscription {
  if (cancels === undefined) return before;
  return {
    ...before,
    cancel_at_period_end: cancels,
    cancel_at: cancels ? periodOf(before).end : before.cancel_at_period_end ? null : before.cancel_at,
  };
}

/** The customer's next renewal. */
function nextOf({ store }: Call, customer: string | null, details: Details | undefined): Invoice {
  if (customer === null) throw missingParam('customer', 'You must give a customer or a subscription.');
  if (details !== undefined)
    throw missingParam(
      'subscription',
      'The sandbox previews changes only of existing subscriptions. Give the subscription.',
    );
  const [next] = store.subscriptions
    .allWithin('customer', customer)
    .filter(({ ended_at }) => ended_at === null)
    .sort((a, b) => periodOf(a).end - periodOf(b).end);
  if (next === undefined) throw noUpcoming(customer);
  return upcomingInvoice(store, asOfNextPeriod(store, next));
}

function withProrationDate(invoice: Invoice, date: number): Invoice {
  const { parent } = invoice;
  if (parent === null) return invoice;
  const details = { ...parent.subscription_details, subscription_proration_date: date };
  return { ...invoice, parent: { ...parent, subscription_details: details } };
}
