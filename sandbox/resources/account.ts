import { accountCountry, accountCurrency } from '../payments/account.ts';
import { shorten } from '../wire/form.ts';
import type { Account } from '../wire/objects.ts';
import { type Operation, operation } from '../wire/operation.ts';
import { WireError } from '../wire/wire-error.ts';

/** The account of all API keys. */
export const accountOperations: readonly Operation[] = [
  operation({ name: 'account.retrieve', method: 'GET', path: 'account' }, {}, ({ accountId }) =>
    accountObject(accountId),
  ),
  operation({ name: 'accounts.retrieve', method: 'GET', path: 'accounts/*' }, {}, ({ accountId, id }) => {
    if (id !== accountId)
      throw new WireError(403, {
        type: 'invalid_request_error',
        code: 'account_invalid',
        message: `The provided key does not have access to account '${shorten(id)}' (or that account does not exist).`,
      });
    return accountObject(accountId);
  }),
];

function accountObject(id: string): Account {
  return {
    id,
    object: 'account',
    business_profile: null,
    business_type: null,
    charges_enabled: true,
    country: accountCountry,
    default_currency: accountCurrency,
    details_submitted: true,
    email: null,
    payouts_enabled: true,
    type: 'standard',
  };
}
