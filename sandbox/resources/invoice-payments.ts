import * as p from '../wire/params.ts';
import { Resource } from './resource.ts';

const invoicePayments = new Resource('invoice_payments', (store) => store.invoicePayments);

export const invoicePaymentOperations = [
  invoicePayments.retrieve(),
  invoicePayments.list(
    {
      invoice: p.text(),
      payment: p.object({ type: p.required(p.oneOf('payment_intent')), payment_intent: p.text() }),
      status: p.oneOf('canceled', 'open', 'paid'),
    },
    { handled: ['payment'], within: ({ payment }) => ({ payment_intent: payment?.payment_intent }) },
  ),
];
