import type { Operation } from '../wire/operation.ts';
import { object, oneOf, required, text } from '../wire/params.ts';
import { Resource } from './resource.ts';

const invoicePayments = new Resource('invoice_payments', (store) => store.invoicePayments);

export const invoicePaymentOperations: readonly Operation[] = [
  invoicePayments.retrieve(),
  invoicePayments.list(
    {
      invoice: text(),
      payment: object({ type: required(oneOf('payment_intent')), payment_intent: text() }),
      status: oneOf('canceled', 'open', 'paid'),
    },
    {
      within: ({ invoice, payment }) => ({ invoice, payment_intent: payment?.payment_intent }),
      equal: ['status'],
    },
  ),
];
