import type { Operation } from '../wire/operation.ts';
import { text } from '../wire/params.ts';
import { Resource } from './resource.ts';

const balanceTransactions = new Resource('balance_transactions', (store) => store.balanceTransactions);

export const balanceTransactionOperations: readonly Operation[] = [
  balanceTransactions.retrieve(),
  balanceTransactions.list(
    { currency: text(), source: text(), type: text() },
    { within: ({ source }) => ({ source }), equal: ['currency', 'type'] },
  ),
];
