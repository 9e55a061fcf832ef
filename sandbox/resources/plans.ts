import { planOf } from '../billing/price.ts';
import * as p from '../wire/params.ts';
import { missing } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

/** The older name of recurring prices. In this form, the sandbox only reads them. */
const plans = new Resource('plans', (store) => store.prices, { show: (_store, price) => planOf(price) });

export const planOperations = [
  plans.operation('retrieve', 'GET *', {}, ({ store, id }) => {
    const price = store.prices.get(id);
    if (price === undefined || price.recurring === null) throw missing('plan', id);
    return planOf(price);
  }),
  plans.list({ active: p.bool, product: p.text() }, { where: ({ recurring }) => recurring !== null }),
];
