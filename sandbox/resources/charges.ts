import { createdParam, cursorOf, listOf, listParams, type Operation, operation } from '../wire/operation.ts';
import { text } from '../wire/params.ts';
import { missing } from '../wire/wire-error.ts';
import { searchOperation } from './search.ts';

export const chargeOperations: readonly Operation[] = [
  operation(
    { name: 'charges.retrieve', method: 'GET', path: 'charges/*' },
    {},
    ({ store, ids: [id = ''] }) => {
      const charge = store.charges.get(id);
      if (charge === undefined) throw missing('charge', id);
      return charge;
    },
  ),
  operation(
    { name: 'charges.list', method: 'GET', path: 'charges' },
    { ...listParams, ...createdParam, customer: text(), payment_intent: text() },
    ({ store }, params) => {
      const { customer, payment_intent } = params;
      const within =
        payment_intent !== undefined
          ? { index: 'payment_intent', key: payment_intent }
          : customer !== undefined
            ? { index: 'customer', key: customer }
            : undefined;
      return listOf(
        '/v1/charges',
        store.charges.list({
          ...cursorOf(params, (id) => store.charges.get(id) !== undefined),
          created: params.created,
          within,
          where: (charge) => customer === undefined || charge.customer === customer,
        }),
      );
    },
  ),
  searchOperation('charges', (store) => store.charges),
];
