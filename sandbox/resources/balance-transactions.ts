import * as p from '../wire/params.ts';
import { Resource } from './resource.ts';

const balanceTransactions = new Resource('balance_transactions', (store) => store.balanceTransactions);

export const balanceTransactionOperations = [
  balanceTransactions.retrieve(),
  balanceTransactions.list(p.each(p.text(), 'currency source type')),
];
