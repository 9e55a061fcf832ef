import { currenciesWith } from '#core/model/format-amount.ts';
import { Parameters } from '#core/platform/parameters.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import type { Table } from '#core/platform/table.ts';
import { looseScan, walk } from './facet-statement.ts';
import type { Facets } from './list.ts';

/** One amount in the smallest units: the same number means different amounts in different currencies. */
interface CurrencyAmount {
  readonly amount: number;
  /** In lower case. Null for all currencies with two decimals. */
  readonly currencies: readonly string[] | null;
}

export type CurrencyAmounts = readonly CurrencyAmount[];

/** The newest rows with one of these amounts. Each amount is looked up in each facet of its currencies. */
export function findByAmounts<Row extends object>(
  db: Queryable,
  { name, columns }: Table<Row>,
  facets: Facets & { readonly amount: string },
  amounts: CurrencyAmounts,
  limit: number,
): Promise<readonly Row[]> {
  const parameters = new Parameters([limit]);
  const { add } = parameters;
  const withOtherDecimals = [...currenciesWith(0), ...currenciesWith(3)];
  const currencyInFacet = `f${facets.columns.indexOf('currency') + 1}`;
  const order = { columns: [facets.amount, 'created_at', 'id'] };
  const found = amounts.map(({ amount, currencies }) => {
    const value = `${add(amount)}::bigint`;
    const ofCurrency = currencies === null ? '<> all' : '= any';
    const isOfCurrency = `${currencyInFacet} ${ofCurrency} (${add(currencies ?? withOtherDecimals)}::text[])`;
    return walk({
      facets,
      what: 'id',
      order,
      edges: ['>=', '<='].map((operator) => ({ operator, terms: [{ column: facets.amount, value }] })),
      direction: 'desc',
      limit: '$1',
      from: `(select * from facets where ${isOfCurrency}) as selected`,
    });
  });
  const { text, values } = parameters.statement(
    `with recursive ${looseScan(facets)}
     select ${columns} from till.${name} where id = any (array(${found.join(' union all ')}))
     order by created_at desc, id desc limit $1`,
  );
  return db.query(text, values);
}
