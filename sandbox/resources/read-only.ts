import { planOf } from '../billing/price.ts';
import { shipping } from '../payments/address.ts';
import * as p from '../wire/params.ts';
import { missing } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

const balanceTransactions = new Resource('balance_transactions', (store) => store.balanceTransactions);
const charges = new Resource('charges', (store) => store.charges);
const invoicePayments = new Resource('invoice_payments', (store) => store.invoicePayments);
/** The older name of recurring prices. */
const plans = new Resource('plans', (store) => store.prices, { show: (_store, price) => planOf(price) });

/** Resources whose objects other requests create. */
export const readOnlyOperations = [
  balanceTransactions.retrieve(),
  balanceTransactions.list(p.each(p.text(), 'currency source type')),
  charges.retrieve(),
  charges.update(
    { ...p.each(p.text(), 'description receipt_email'), metadata: p.metadata, shipping },
    ({ store }, before, { metadata, ...changes }) =>
      store.update('charge.updated', store.charges, before, {
        ...p.present(changes),
        metadata: p.applyMetadata(before.metadata, metadata),
      }),
  ),
  charges.list(p.each(p.text(), 'payment_intent customer')),
  charges.search(),
  invoicePayments.retrieve(),
  invoicePayments.list(
    {
      invoice: p.text(),
      payment: p.object({ type: p.required(p.oneOf('payment_intent')), payment_intent: p.text() }),
      status: p.oneOf('canceled', 'open', 'paid'),
    },
    { handled: ['payment'], within: ({ payment }) => ({ payment_intent: payment?.payment_intent }) },
  ),
  plans.operation('retrieve', 'GET *', {}, ({ store, id }) => {
    const price = store.prices.get(id);
    if (price === undefined || price.recurring === null) throw missing('plan', id);
    return planOf(price);
  }),
  plans.list({ active: p.bool, product: p.text() }, { where: ({ recurring }) => recurring !== null }),
];
