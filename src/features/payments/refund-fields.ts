import { type Refund, refundKinds, refundReasons, refundStatuses } from '#core/model/refund.ts';
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
import { computed, datedColumns, immutable, mutable } from '#core/platform/table.ts';
import { DateTime, Id, IncludedCustomer } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { paymentExample } from './payment-fields.ts';

const customerId = '(select payments.customer_id from till.payments where payments.id = refunds.payment_id)';
const kind =
  '`release`: an amount that was authorised and not captured. The processor may record it as a refund, when an authorisation ' +
  'is canceled, expires or is captured in part. It counts in no total, and has no events.';

export const refundFields = {
  id: shown(immutable('uuid'), Id, '0199c1f2-4c7d-7a90-a3b1-0e9f8d7c6b5a'),
  // The API shows no reservation, which has no id yet.
  processorRefundId: shownAs(
    mutable('text'),
    Type.String(),
    're_1Nispe2eZvKYlo2Cd31jOCgZ',
    ({ processorRefundId }: Refund) => processorRefundId ?? '',
  ),
  paymentId: shown(immutable('uuid'), Id, paymentExample.id),
  amount: shown(
    mutable('bigint'),
    Type.Integer({ description: 'In the smallest unit of the currency.' }),
    2_000,
  ),
  currency: shown(mutable('text'), Type.String(), 'eur'),
  status: shown(mutable('text'), Type.Enum([...refundStatuses]), 'succeeded'),
  reason: shown(
    immutable('text'),
    Type.Union([Type.Enum([...refundReasons]), Type.Null()]),
    'requested_by_customer',
  ),
  kind: shown(immutable('text'), Type.Enum([...refundKinds], { description: kind }), 'refund'),
  createdAt: shown(immutable('timestamptz'), DateTime, '2026-11-15T10:00:00.000Z'),
  updatedAt: shown(mutable('timestamptz'), DateTime, '2026-11-15T10:00:00.000Z'),
  customerId: computed('uuid', customerId),
  ...datedColumns,
} satisfies Fields<Refund>;

export const RefundSchema = component('Refund', { ...schemasOf(refundFields), customer: IncludedCustomer });

export const refundExample = exampleOf(refundFields);

export type RefundView = ViewOf<typeof refundFields>;

/** A refund as the API shows it. */
export const refundView = viewOf<Refund>()(refundFields);
