import { noUpcoming, previewChange, previewResumption, upcomingInvoice } from '../billing/invoice-preview.ts';
import { asOfNextPeriod } from '../billing/phase-change.ts';
import { periodOf } from '../billing/subscription-items.ts';
import { existingCustomer } from '../payments/customer.ts';
import { existing } from '../wire/existing.ts';
import type { Invoice, Subscription } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import { bool, integer, object, oneOf, type Parsed, text } from '../wire/params.ts';
import { badParam, missing } from '../wire/wire-error.ts';
import { itemsParam, planFrom } from './subscription-item-changes.ts';
import { anchorParam, checkAnchor, prorationBehavior } from './subscription-params.ts';

const detailsParams = {
  billing_cycle_anchor: anchorParam,
  cancel_at_period_end: bool,
  items: itemsParam,
  proration_behavior: prorationBehavior,
  proration_date: integer(),
  resume_at: oneOf('now'),
};

export const previewParams = {
  customer: text(),
  subscription: text(),
  subscription_details: object(detailsParams),
};

/** Shows the next invoice, with the change in the parameters. Stores nothing. */
export function preview(call: Call, params: Parsed<typeof previewParams>): Invoice {
  const { store } = call;
  const { subscription_details: details } = params;
  checkAnchor(call, details?.billing_cycle_anchor, 'subscription_details[billing_cycle_anchor]');
  const customer = params.customer === undefined ? null : existingCustomer(store, params.customer).id;
  if (params.subscription === undefined) return nextOf(call, customer, details);
  const found = existing(store.subscriptions, params.subscription, 'subscription');
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

function withCancellation(before: Subscription, cancels: boolean | undefined): Subscription {
  if (cancels === undefined) return before;
  return {
    ...before,
    cancel_at_period_end: cancels,
    cancel_at: cancels ? periodOf(before).end : before.cancel_at_period_end ? null : before.cancel_at,
  };
}

/** The customer's next renewal. */
function nextOf(
  { store }: Call,
  customer: string | null,
  details: Parsed<typeof detailsParams> | undefined,
): Invoice {
  if (customer === null)
    throw badParam('You must give a customer or a subscription.', 'customer', 'parameter_missing');
  if (details !== undefined)
    throw badParam(
      'The sandbox previews changes only of existing subscriptions. Give the subscription.',
      'subscription',
      'parameter_missing',
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
