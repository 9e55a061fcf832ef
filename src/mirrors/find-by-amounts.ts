import { currenciesWith } from '../model/format-amount.ts';
import type { Queryable } from '../platform/postgres.ts';
import type { Table } from '../platform/table.ts';

/** One amount in the smallest units: the same number means different amounts in different currencies. */
export interface CurrencyAmount {
  readonly amount: number;
  /** In lower case. Null for all currencies with two decimals. */
  readonly currencies: readonly string[] | null;
}

export type CurrencyAmounts = readonly CurrencyAmount[];

/**
 * The newest rows with one of these amounts. Each amount walks the index of the column, `created_at` and `id`, which
 * also includes the currency. The bounds and the order leave PostgreSQL no other index: see decision 0017.
 */
export function findByAmounts<Row extends object>(
  db: Queryable,
  { name, columns }: Table<Row>,
  column: string,
  amounts: CurrencyAmounts,
  limit: number,
): Promise<readonly Row[]> {
  const values: unknown[] = [limit];
  const add = (value: unknown) => `$${values.push(value)}`;
  const withOtherDecimals = [...currenciesWith(0), ...currenciesWith(3)];
  const found = amounts.map(({ amount, currencies }) => {
    const value = `${add(amount)}::bigint`;
    const ofCurrency = currencies === null ? '<> all' : '= any';
    return `(select id from till.${name} where ${column} >= ${value} and ${column} <= ${value}
      and currency ${ofCurrency} (${add(currencies ?? withOtherDecimals)}::text[])
      order by ${column} desc, created_at desc, id desc limit $1)`;
  });
  return db.query(
    `select ${columns} from till.${name} where id in (${found.join(' union all ')})
     order by created_at desc, id desc limit $1`,
    values,
  );
}
