import {
  type Checkout,
  checkoutModes,
  checkoutPaymentStatuses,
  checkoutStatuses,
} from '#core/model/checkout.ts';
import {
  exampleOf,
  type Fields,
  schemasOf,
  shown,
  shownAs,
  type ViewOf,
  viewOf,
} from '#core/platform/fields.ts';
import { Type } from '#core/platform/schemas.ts';
import { datedColumns, immutable, mutable } from '#core/platform/table.ts';
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

const paymentStatus =
  'Whether the payment or the first invoice is paid. A completed checkout can be `unpaid`, for example if the ' +
  'payment method takes days. `notRequired`: nothing is due now.';
const amount = 'The total, after codes that the buyer entered. Null if a card is saved.';
const paymentMethodId = "The processor's id of the saved card, with `saveCard`. Null until `completed`.";

export const checkoutFields = {
  id: shown(immutable('uuid'), Id, '0199c1f5-2d41-7c3a-8b9e-0f1a2b3c4d5e'),
  processorCheckoutSessionId: shown(immutable('text'), Type.String(), 'cs_test_a1b2c3d4e5f6g7h8i9j0'),
  customerId: shown(immutable('uuid'), Id, '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90'),
  mode: shown(
    immutable('text'),
    Type.Enum([...checkoutModes], {
      description: 'What results: a subscription, a payment or a saved card.',
    }),
    'subscription',
  ),
  status: shown(
    mutable('text'),
    Type.Enum([...checkoutStatuses], { description: '`completed` and `expired` are final.' }),
    'open',
  ),
  paymentStatus: shown(
    mutable('text'),
    Type.Enum([...checkoutPaymentStatuses], { description: paymentStatus }),
    'unpaid',
  ),
  planId: shown(
    immutable('uuid'),
    nullableId('The main plan of the subscription.'),
    '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e11',
  ),
  quantity: shown(immutable('bigint'), nullable(Type.Integer()), 1),
  addOns: shown(immutable('jsonb'), Type.Array(Type.Object({ planId: Id, quantity: Type.Integer() })), []),
  trialPeriodDays: shown(
    immutable('integer'),
    nullable(Type.Integer({ description: 'The trial that the buyer gets. Null if there is none.' })),
    null,
  ),
  amount: shown(mutable('bigint'), nullable(Type.Integer({ description: amount })), 900),
  currency: shown(mutable('text'), nullable(Type.String()), 'eur'),
  subscriptionId: shown(
    mutable('uuid'),
    nullableId('The subscription that results. Null until `completed`.'),
    null,
  ),
  paymentId: shown(mutable('uuid'), nullableId('The payment that results. Null until `completed`.'), null),
  paymentMethodId: shown(mutable('text'), nullable(Type.String({ description: paymentMethodId })), null),
  expiresAt: shown(mutable('timestamptz'), DateTime, '2026-11-16T09:30:00.000Z'),
  completedAt: shown(mutable('timestamptz'), nullableTime('Null until `completed`.'), null),
  metadata: shownAs(
    mutable('jsonb'),
    MetadataResponse,
    { seatPool: 'emea' },
    ({ metadata }: Checkout) => metadata ?? {},
  ),
  createdAt: shown(immutable('timestamptz'), DateTime, '2026-11-15T09:30:00.000Z'),
  updatedAt: shown(mutable('timestamptz'), DateTime, '2026-11-15T09:30:00.000Z'),
  terms: immutable('text'),
  ...datedColumns,
} satisfies Fields<Checkout>;

export const CheckoutSchema = component('Checkout', {
  ...schemasOf(checkoutFields),
  customer: IncludedCustomer,
});

export const checkoutExample = exampleOf(checkoutFields);

export type CheckoutView = ViewOf<typeof checkoutFields>;

/** A checkout as the API shows it. The URL of its page is not part of it. */
export const checkoutView = viewOf<Checkout>()(checkoutFields);
