import { type Invoice, invoiceStatuses } from '#core/model/invoice.ts';
import { exampleOf, type Fields, schemasOf, shown, type ViewOf, viewOf } from '#core/platform/fields.ts';
import { Type } from '#core/platform/schemas.ts';
import { datedColumns, immutable, linked, mutable } from '#core/platform/table.ts';
import { DateTime, Id, IncludedCustomer, nullable } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';

/** Null if the invoice bills no subscription that Till has a row for. */
const subscriptionIdOf = `(select subscriptions.id from till.subscriptions
  where subscriptions.processor_subscription_id = invoices.processor_subscription_id)`;

const finalized = 'Null until the invoice is finalized.';
const nextAttempt = 'Null if the processor makes no further attempt by itself.';
const exampleUrl = 'https://invoice.example.com/i/acct_1/test_1';
const exampleTime = '2026-11-15T09:30:00.000Z';

export const invoiceFields = {
  id: shown(immutable('uuid'), Id, '0199c1f4-8e21-7f35-8d6a-1c2b3a4f5e6d'),
  processorInvoiceId: shown(immutable('text'), Type.String(), 'in_1MtHbELkdIwHu7ixl4OzzPMv'),
  customerId: shown(mutable('uuid'), nullable(Id), '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90'),
  processorCustomerId: shown(mutable('text'), nullable(Type.String()), 'cus_Nffr5zNcVKZ0aB'),
  processorSubscriptionId: shown(mutable('text'), nullable(Type.String()), 'sub_1MowQVLkdIwHu7ixeRlqHVzs'),
  subscriptionId: shown(
    linked('uuid', subscriptionIdOf),
    nullable(Id),
    '0199c1f3-11d2-7b64-9e0f-7a6b5c4d3e2f',
  ),
  number: shown(mutable('text'), nullable(Type.String({ description: finalized })), 'A1B2C3D4-0001'),
  amountDue: shown(
    mutable('bigint'),
    Type.Integer({ description: 'In the smallest unit of the currency.' }),
    1_900,
  ),
  amountPaid: shown(mutable('bigint'), Type.Integer(), 1_900),
  amountRemaining: shown(mutable('bigint'), Type.Integer(), 0),
  currency: shown(mutable('text'), Type.String(), 'eur'),
  status: shown(mutable('text'), Type.Enum([...invoiceStatuses]), 'paid'),
  attemptCount: shown(
    mutable('integer'),
    Type.Integer({ description: 'The number of attempts of the processor to collect the invoice.' }),
    1,
  ),
  nextPaymentAttemptAt: shown(
    mutable('timestamptz'),
    nullable({ ...DateTime, description: nextAttempt }),
    null,
  ),
  periodStart: shown(mutable('timestamptz'), nullable(DateTime), exampleTime),
  periodEnd: shown(mutable('timestamptz'), nullable(DateTime), exampleTime),
  hostedInvoiceUrl: shown(mutable('text'), nullable(Type.String()), exampleUrl),
  invoicePdfUrl: shown(
    mutable('text'),
    nullable(Type.String({ description: finalized })),
    `${exampleUrl}/pdf`,
  ),
  createdAt: shown(immutable('timestamptz'), DateTime, exampleTime),
  updatedAt: shown(mutable('timestamptz'), DateTime, '2026-11-15T09:31:00.000Z'),
  coversUntil: mutable('timestamptz'),
  isIncomplete: mutable('boolean'),
  ...datedColumns,
} satisfies Fields<Invoice>;

export const InvoiceSchema = component('Invoice', {
  ...schemasOf(invoiceFields),
  customer: IncludedCustomer,
});

export const invoiceExample = exampleOf(invoiceFields);

export type InvoiceView = ViewOf<typeof invoiceFields>;

/** An invoice as the API shows it. */
export const invoiceView = viewOf<Invoice>()(invoiceFields);
