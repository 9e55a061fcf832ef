import { type Payment, paymentStatuses } from '#core/model/payment.ts';
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
import { computed, datedColumns, immutable, linked, mutable } from '#core/platform/table.ts';
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

const invoiceId = `case when payments.processor_invoice_id is not null then
  (select invoices.id from till.invoices where invoices.processor_invoice_id = payments.processor_invoice_id
    and invoices.processor_subscription_id = payments.processor_subscription_id) end`;

const subscriptionId = `case when payments.processor_subscription_id is not null then
  (select subscriptions.id from till.subscriptions
    where subscriptions.processor_subscription_id = payments.processor_subscription_id) end`;

const FailureSchema = Type.Object(
  {
    code: nullable(Type.String()),
    declineCode: nullable(Type.String()),
    message: nullable(Type.String({ description: "The processor's message for people." })),
  },
  { description: 'Why the last attempt to pay failed. Null if none failed, and after a success.' },
);

const PaymentMethodSchema = Type.Object(
  {
    id: Type.String({ description: "The processor's id." }),
    type: Type.String(),
    brand: nullable(Type.String()),
    last4: nullable(Type.String()),
    expMonth: nullable(Type.Integer()),
    expYear: nullable(Type.Integer()),
  },
  { description: 'The payment method of the last attempt to pay. Null before the first one.' },
);

/** The fields of a payment's newest dispute. */
const DisputeSchema = Type.Object(
  {
    status: Type.String({
      description:
        "The processor's status, an open set: `needs_response`, `under_review`, `won`, `lost`, for an inquiry " +
        '`warning_needs_response`, and others.',
    }),
    amount: nullable(
      Type.Integer({
        description: "The disputed amount. Null if the currency of the dispute is not the payment's.",
      }),
    ),
    reason: nullable(Type.String({ description: "The processor's reason, an open set." })),
    evidenceDueBy: nullableTime('When evidence is due.'),
  },
  {
    description:
      "The payment's newest dispute. Null if there is none. A dispute never changes the payment's `status`.",
  },
);

const amountRefunded =
  'The sum of the refunds that did not fail. A release of an amount that was authorised and not captured does not count.';
const amountCapturable =
  'The amount that is authorised and not captured yet. An authorised payment has the status `requires_action`.';

export const paymentFields = {
  id: shown(immutable('uuid'), Id, '0199c1f1-02ab-7e31-b1c4-5d8e9f0a1b2c'),
  processorPaymentIntentId: shown(immutable('text'), Type.String(), 'pi_3MtwBwLkdIwHu7ix28a3tqPa'),
  customerId: shown(immutable('uuid'), Id, '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90'),
  amount: shown(
    mutable('bigint'),
    Type.Integer({ description: 'In the smallest unit of the currency.' }),
    2_000,
  ),
  currency: shown(mutable('text'), Type.String(), 'eur'),
  status: shown(computed('text'), Type.Enum([...paymentStatuses]), 'requires_payment_method'),
  amountReceived: shown(mutable('bigint'), Type.Integer({ description: 'The amount received so far.' }), 0),
  amountRefunded: shown(computed('bigint'), Type.Integer({ description: amountRefunded }), 0),
  amountCapturable: shown(mutable('bigint'), Type.Integer({ description: amountCapturable }), 0),
  captureBefore: shownAs(
    mutable('timestamptz'),
    nullableTime('When the authorisation expires. Null if there is none.'),
    null,
    (payment: Payment) =>
      payment.amountCapturable > 0 ? (payment.captureBefore?.toISOString() ?? null) : null,
  ),
  description: shown(mutable('text'), nullable(Type.String()), 'Order 1234'),
  metadata: shownAs(
    mutable('jsonb'),
    MetadataResponse,
    { orderId: '1234' },
    ({ metadata }: Payment) => metadata ?? {},
  ),
  failure: shown(mutable('jsonb'), nullable(FailureSchema), null),
  paymentMethod: shown(mutable('jsonb'), nullable(PaymentMethodSchema), null),
  invoiceId: shown(
    linked('uuid', invoiceId),
    nullableId('The invoice of a subscription that the payment pays.'),
    null,
  ),
  subscriptionId: shown(
    linked('uuid', subscriptionId),
    nullableId('The subscription that the payment was charged for.'),
    null,
  ),
  checkoutId: shown(immutable('uuid'), nullableId('The checkout that created the payment.'), null),
  dispute: shownAs(mutable('jsonb'), nullable(DisputeSchema), null, disputeView),
  createdAt: shown(immutable('timestamptz'), DateTime, '2026-11-15T09:30:00.000Z'),
  updatedAt: shown(mutable('timestamptz'), DateTime, '2026-11-15T09:30:00.000Z'),
  processorInvoiceId: immutable('text'),
  processorSubscriptionId: immutable('text'),
  amountReserved: computed('bigint'),
  intentStatus: mutable('text'),
  processorChargeId: mutable('text'),
  chargedAt: mutable('timestamptz'),
  ...datedColumns,
} satisfies Fields<Payment>;

/** The view has no currency of its own for the dispute, so an amount in another currency is not shown. */
function disputeView({ dispute, currency }: Payment) {
  if (dispute === null) return null;
  const { status, reason, evidenceDueBy } = dispute;
  return { status, amount: dispute.currency === currency ? dispute.amount : null, reason, evidenceDueBy };
}

export const PaymentSchema = component('Payment', {
  ...schemasOf(paymentFields),
  customer: IncludedCustomer,
});

export const paymentExample = exampleOf(paymentFields);

export type PaymentView = ViewOf<typeof paymentFields>;

/** A payment as the API shows it. */
export const paymentView = viewOf<Payment>()(paymentFields);
