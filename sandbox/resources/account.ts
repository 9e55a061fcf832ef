import { accountOf } from '../payments/account.ts';
import type { Store } from '../state/store.ts';
import { noAccess } from '../wire/authenticate.ts';
import { nulls } from '../wire/nulls.ts';
import type { Account } from '../wire/objects.ts';
import { operation } from '../wire/operation.ts';

/** The account of all API keys. */
export const accountOperations = [
  operation({ name: 'account.retrieve', method: 'GET', path: 'account' }, {}, ({ store, accountId }) =>
    accountObject(store, accountId),
  ),
  operation(
    { name: 'accounts.retrieve', method: 'GET', path: 'accounts/*' },
    {},
    ({ store, accountId, id }) => {
      if (id !== accountId) throw noAccess(id);
      return accountObject(store, accountId);
    },
  ),
];

function accountObject(store: Store, id: string): Account {
  const { country, currency } = accountOf(store);
  return {
    id,
    object: 'account',
    ...nulls('business_profile business_type email'),
    charges_enabled: true,
    country,
    default_currency: currency,
    details_submitted: true,
    payouts_enabled: true,
    type: 'standard',
  };
}
