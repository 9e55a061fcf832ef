import type { Static } from 'typebox';
import { subscriptionStatuses } from '#core/model/subscription.ts';
import { Type } from '#core/platform/schemas.ts';
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

export const SubscriptionSchema = component('Subscription', {
  id: Id,
  processorSubscriptionId: Type.String(),
  customerId: Id,
  planId: Type.String({ format: 'uuid', description: 'The main plan.' }),
  quantity: Type.Integer(),
  addOns: AddOnsSchema,
  otherItems: OtherItemsSchema,
  status: Type.Enum([...subscriptionStatuses], {
    description: '`active` and `trialing` both entitle the customer to the service.',
  }),
  entitled: Type.Boolean({
    description: 'True if `active` or `trialing`, or if `past_due` and within the grace period.',
  }),
  currentPeriodStart: nullable(DateTime),
  currentPeriodEnd: nullable(DateTime),
  trialEnd: nullable(DateTime),
  cancelAtPeriodEnd: Type.Boolean({
    description:
      'Whether the subscription ends with its current period, no matter whether Till, the portal or the dashboard of the ' +
      'processor canceled it.',
  }),
  cancelAt: nullableTime('When the subscription will be canceled.'),
  canceledAt: nullableTime(
    'When the cancellation was requested, even if the subscription has not ended yet.',
  ),
  endedAt: nullableTime('When the subscription ended.'),
  cancellationReason: nullable(
    Type.String({
      description:
        'Why the subscription was canceled, as a request, the portal or the dashboard of the processor said. Null if it is ' +
        'not canceled, or was canceled without a reason. It is erased when the customer is deleted.',
    }),
  ),
  latestInvoiceId: nullableId('Null until the webhook of the invoice has arrived.'),
  defaultPaymentMethodId: nullable(
    Type.String({ description: "The processor's id. Null if the customer's default is used." }),
  ),
  discount: nullable(DiscountSchema),
  pendingChange: nullable(PendingChangeSchema),
  metadata: MetadataResponse,
  createdAt: DateTime,
  updatedAt: DateTime,
  customer: IncludedCustomer,
});

export const subscriptionExample: Static<typeof SubscriptionSchema> = {
  id: '0199c1f3-11d2-7b64-9e0f-7a6b5c4d3e2f',
  processorSubscriptionId: 'sub_1MowQVLkdIwHu7ixeRlqHVzs',
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  planId: '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e11',
  quantity: 1,
  addOns: [],
  otherItems: [],
  status: 'incomplete',
  entitled: false,
  currentPeriodStart: '2026-11-15T09:30:00.000Z',
  currentPeriodEnd: '2026-12-15T09:30:00.000Z',
  trialEnd: null,
  cancelAtPeriodEnd: false,
  cancelAt: null,
  canceledAt: null,
  endedAt: null,
  cancellationReason: null,
  latestInvoiceId: null,
  defaultPaymentMethodId: null,
  discount: null,
  pendingChange: null,
  metadata: { seatPool: 'emea' },
  createdAt: '2026-11-15T09:30:00.000Z',
  updatedAt: '2026-11-15T09:30:00.000Z',
};

export const activeExample: Static<typeof SubscriptionSchema> = {
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
