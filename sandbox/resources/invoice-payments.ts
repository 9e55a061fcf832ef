import { createdParam, cursorOf, listOf, listParams, type Operation, operation } from '../wire/operation.ts';
import { object, oneOf, required, text } from '../wire/params.ts';
import { missing } from '../wire/wire-error.ts';

export const invoicePaymentOperations: readonly Operation[] = [
  operation(
    { name: 'invoice_payments.retrieve', method: 'GET', path: 'invoice_payments/*' },
    {},
    ({ store, ids: [id = ''] }) => {
      const payment = store.invoicePayments.get(id);
      if (payment === undefined) throw missing('invoice_payment', id);
      return payment;
    },
  ),
  operation(
    { name: 'invoice_payments.list', method: 'GET', path: 'invoice_payments' },
    {
      ...listParams,
      ...createdParam,
      invoice: text(),
      payment: object({ type: required(oneOf('payment_intent')), payment_intent: text() }),
      status: oneOf('canceled', 'open', 'paid'),
    },
    ({ store }, params) => {
      const { invoice } = params;
      const intent = params.payment?.payment_intent;
      const within =
        invoice !== undefined
          ? { index: 'invoice', key: invoice }
          : intent !== undefined
            ? { index: 'payment_intent', key: intent }
            : undefined;
      return listOf(
        '/v1/invoice_payments',
        store.invoicePayments.list({
          ...cursorOf(params, (id) => store.invoicePayments.get(id) !== undefined),
          created: params.created,
          within,
          where: (payment) =>
            (intent ?? payment.payment.payment_intent) === payment.payment.payment_intent &&
            (params.status ?? payment.status) === payment.status,
        }),
      );
    },
  ),
];
