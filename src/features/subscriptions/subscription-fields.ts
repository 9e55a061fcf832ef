import { type Subscription, subscriptionStatuses } from '#core/model/subscription.ts';
import type { Discount, PendingChange } from '#core/model/subscription-terms.ts';
import {
  derived,
  exampleOf,
  type Fields,
  schemasOf,
  shown,
  shownAs,
  type ViewOf,
  viewOf,
} from '#core/platform/fields.ts';
import { Type } from '#core/platform/schemas.ts';
import { datedColumns, immutable, linked, mutable } from '#core/platform/table.ts';
import {
  DateTime,
  Id,
  IncludedCustomer,
  MetadataResponse,
  nullable,
  nullableId,
  nullableTime,
} from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';

/** The invoice may be recorded before or after the subscription, so it is looked up when the row is read. */
const latestInvoiceId = `(select invoices.id from till.invoices
  where invoices.processor_invoice_id = subscriptions.processor_latest_invoice_id
    and invoices.processor_subscription_id = subscriptions.processor_subscription_id)`;

/**
 * The end of the period that the latest paid invoice pays. It is read from the invoices and not copied into the row, so
 * that a subscription and its invoices can arrive in any order. Only a subscription that is `past_due` needs it.
 */
export const paidUntil = `case when subscriptions.status = 'past_due' then (
  select invoices.covers_until from till.invoices
  where invoices.processor_subscription_id = subscriptions.processor_subscription_id
    and invoices.status = 'paid' and invoices.covers_until is not null
  order by invoices.created_at desc, invoices.covers_until desc limit 1) end`;

/**
 * A used discount is shown until its invoice is paid, or can no longer be paid. With `exists`, PostgreSQL could read
 * all invoices once instead of looking up one for each subscription.
 */
const shownDiscount = `case when subscriptions.discount->>'usedBy' is null or (select invoices.id from till.invoices
  where invoices.processor_invoice_id = subscriptions.discount->>'usedBy'
    and invoices.processor_subscription_id = subscriptions.processor_subscription_id
    and invoices.status not in ('draft', 'open')) is null then subscriptions.discount end`;

const DiscountSchema = Type.Object(
  {
    code: nullable(Type.String({ description: 'The promotion code that the customer entered, if any.' })),
    percentOff: nullable(Type.Number()),
    amountOff: nullable(Type.Integer({ description: 'In the smallest unit of `currency`.' })),
    currency: nullable(Type.String()),
    endsAt: nullableTime('Null if the discount does not end.'),
  },
  {
    description:
      'The first discount. Null if there is none. A discount for one invoice is shown until that invoice is paid.',
  },
);

const AddOnsSchema = Type.Array(Type.Object({ planId: Id, quantity: Type.Integer() }), {
  description: 'The other plans that the subscription bills, in the order of `planId`.',
});

const OtherItemsSchema = Type.Array(
  Type.Object({
    processorPriceId: Type.String(),
    quantity: nullable(Type.Integer({ description: 'Null if usage decides what is billed.' })),
    description: nullable(Type.String({ description: "The processor's name of the price." })),
  }),
  {
    description:
      'The items of this subscription that are not Till plans, such as metered or tiered prices. Till ' +
      'never changes it.',
  },
);

const PendingChangeSchema = Type.Object(
  {
    planId: nullableId('Null if the new price is not a Till plan.'),
    quantity: Type.Integer(),
    addOns: AddOnsSchema,
    at: nullableTime('Null if the change waits for the customer to authenticate.'),
  },
  { description: 'The next change of plans or quantities. Null if there is none.' },
);

const cancelAtPeriodEnd =
  'Whether the subscription ends with its current period, no matter whether Till, the portal or the dashboard of the ' +
  'processor canceled it.';
const cancellationReason =
  'Why the subscription was canceled, as a request, the portal or the dashboard of the processor said. Null if it is ' +
  'not canceled, or was canceled without a reason. It is erased when the customer is deleted.';

export const subscriptionFields = {
  id: shown(immutable('uuid'), Id, '0199c1f3-11d2-7b64-9e0f-7a6b5c4d3e2f'),
  processorSubscriptionId: shown(immutable('text'), Type.String(), 'sub_1MowQVLkdIwHu7ixeRlqHVzs'),
  customerId: shown(immutable('uuid'), Id, '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90'),
  planId: shown(
    mutable('uuid'),
    Type.String({ format: 'uuid', description: 'The main plan.' }),
    '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e11',
  ),
  quantity: shown(mutable('bigint'), Type.Integer(), 1),
  addOns: shown(mutable('jsonb'), AddOnsSchema, []),
  otherItems: shown(mutable('jsonb'), OtherItemsSchema, []),
  status: shown(
    mutable('text'),
    Type.Enum([...subscriptionStatuses], {
      description: '`active` and `trialing` both entitle the customer to the service.',
    }),
    'incomplete',
  ),
  entitled: derived(
    Type.Boolean({
      description: 'True if `active` or `trialing`, or if `past_due` and within the grace period.',
    }),
    false,
    (_: Subscription, entitled: boolean) => entitled,
  ),
  currentPeriodStart: shown(mutable('timestamptz'), nullable(DateTime), '2026-11-15T09:30:00.000Z'),
  currentPeriodEnd: shown(mutable('timestamptz'), nullable(DateTime), '2026-12-15T09:30:00.000Z'),
  trialEnd: shown(mutable('timestamptz'), nullable(DateTime), null),
  cancelAtPeriodEnd: shown(mutable('boolean'), Type.Boolean({ description: cancelAtPeriodEnd }), false),
  cancelAt: shown(mutable('timestamptz'), nullableTime('When the subscription will be canceled.'), null),
  canceledAt: shown(
    mutable('timestamptz'),
    nullableTime('When the cancellation was requested, even if the subscription has not ended yet.'),
    null,
  ),
  endedAt: shown(mutable('timestamptz'), nullableTime('When the subscription ended.'), null),
  cancellationReason: shown(
    mutable('text'),
    nullable(Type.String({ description: cancellationReason })),
    null,
  ),
  latestInvoiceId: shown(
    linked('uuid', latestInvoiceId),
    nullableId('Null until the webhook of the invoice has arrived.'),
    null,
  ),
  defaultPaymentMethodId: shown(
    mutable('text'),
    nullable(Type.String({ description: "The processor's id. Null if the customer's default is used." })),
    null,
  ),
  discount: shownAs(
    mutable('jsonb', shownDiscount),
    nullable(DiscountSchema),
    null,
    ({ discount }: Subscription) => (discount === null ? null : discountView(discount)),
  ),
  pendingChange: shownAs(
    mutable('jsonb'),
    nullable(PendingChangeSchema),
    null,
    ({ pendingChange }: Subscription) => (pendingChange === null ? null : pendingChangeView(pendingChange)),
  ),
  metadata: shownAs(
    mutable('jsonb'),
    MetadataResponse,
    { seatPool: 'emea' },
    ({ metadata }: Subscription) => metadata ?? {},
  ),
  createdAt: shown(immutable('timestamptz'), DateTime, '2026-11-15T09:30:00.000Z'),
  updatedAt: shown(mutable('timestamptz'), DateTime, '2026-11-15T09:30:00.000Z'),
  processorMainItemId: mutable('text'),
  processorLatestInvoiceId: mutable('text'),
  isIncomplete: mutable('boolean'),
  paidUntil: linked('timestamptz', paidUntil),
  ...datedColumns,
} satisfies Fields<Subscription, 'entitled'>;

function discountView({ code, percentOff, amountOff, currency, endsAt }: Discount) {
  return { code, percentOff, amountOff, currency, endsAt };
}

function pendingChangeView({ planId, quantity, addOns = [], at }: PendingChange) {
  return { planId, quantity, addOns: [...addOns], at };
}

export const SubscriptionSchema = component('Subscription', {
  ...schemasOf(subscriptionFields),
  customer: IncludedCustomer,
});

export type SubscriptionView = ViewOf<typeof subscriptionFields>;

/** A subscription as the API shows it, and whether it entitles its customer. */
export const subscriptionView = viewOf<Subscription, boolean>()(subscriptionFields);

export const subscriptionExample = exampleOf(subscriptionFields);

export const activeExample: SubscriptionView = {
  ...subscriptionExample,
  status: 'active',
  entitled: true,
  latestInvoiceId: '0199c1f4-8e21-7f35-8d6a-1c2b3a4f5e6d',
  defaultPaymentMethodId: 'pm_1MtwBwLkdIwHu7ixUEzhvCw1',
  addOns: [{ planId: '0199c1f0-8d2a-7b6c-9c0d-5f4e3d2c1b0a', quantity: 3 }],
  otherItems: [
    { processorPriceId: 'price_1MoBy5LkdIwHu7ixZhnattbh', quantity: null, description: 'Traffic' },
  ],
  discount: { code: 'WELCOME', percentOff: 20, amountOff: null, currency: null, endsAt: null },
  pendingChange: {
    planId: '0199c1f0-9c31-7a2b-8f10-4e5d6c7b8a90',
    quantity: 1,
    addOns: [{ planId: '0199c1f0-8d2a-7b6c-9c0d-5f4e3d2c1b0a', quantity: 5 }],
    at: '2026-12-15T09:30:00.000Z',
  },
};
