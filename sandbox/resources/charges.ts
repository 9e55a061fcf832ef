import * as p from '../wire/params.ts';
import { Resource } from './resource.ts';

const charges = new Resource('charges', (store) => store.charges);

export const chargeOperations = [
  charges.retrieve(),
  charges.list(p.each(p.text(), 'payment_intent customer')),
  charges.search(),
];
