import type { Account } from '../wire/objects.ts';
import { type Operation, operation } from '../wire/operation.ts';

/** The currency of an invoice that names none and bills no items. */
export const accountCurrency = 'eur';

/** The account of all keys. */
export const accountOperations: readonly Operation[] = [
  operation({ name: 'account.retrieve', method: 'GET', path: 'account' }, {}, ({ accountId }): Account => {
    return {
      id: accountId,
      object: 'account',
      charges_enabled: true,
      country: 'DE',
      default_currency: accountCurrency,
      details_submitted: true,
      email: null,
      payouts_enabled: true,
      type: 'standard',
    };
  }),
];
