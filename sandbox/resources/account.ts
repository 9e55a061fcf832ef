import type { Account } from '../wire/objects.ts';
import { type Operation, operation } from '../wire/operation.ts';

/** The account of all keys. */
export const accountOperations: readonly Operation[] = [
  operation({ name: 'account.retrieve', method: 'GET', path: 'account' }, {}, ({ accountId }): Account => {
    return {
      id: accountId,
      object: 'account',
      charges_enabled: true,
      country: 'DE',
      default_currency: 'eur',
      details_submitted: true,
      email: null,
      payouts_enabled: true,
      type: 'standard',
    };
  }),
];
