import type { Operation } from '../wire/operation.ts';
import { text } from '../wire/params.ts';
import { Resource } from './resource.ts';

const charges = new Resource('charges', (store) => store.charges);

export const chargeOperations: readonly Operation[] = [
  charges.retrieve(),
  charges.list(
    { customer: text(), payment_intent: text() },
    {
      within: ({ payment_intent, customer }) => ({ payment_intent, customer }),
    },
  ),
  charges.search(),
];
