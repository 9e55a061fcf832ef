import { parseMoney } from '../../format/money.ts';
import type { ListQuery } from '../../parts/list-page.tsx';

/**
 * The parameters of the API for the filters of payments. People see all payments unless they choose a kind, and type
 * amounts in decimals, which mean something only together with a currency.
 */
export function toPaymentQuery(values: Readonly<Record<string, string>>): ListQuery {
  const { source, amountMin, amountMax, failureCode, ...others } = values;
  const query = {
    ...others,
    ...(source === 'one_time' ? {} : { source: source ?? 'all' }),
    // People read codes as words, and type them so.
    ...(failureCode === undefined ? {} : { failureCode: failureCode.trim().replaceAll(/\s+/g, '_') }),
  };
  const typed = Object.entries({ amountMin, amountMax }).filter((entry) => entry[1] !== undefined);
  if (typed.length === 0) return { query };
  const { currency } = others;
  if (currency === undefined) return { query, hint: 'Choose a currency to filter by amount.' };
  const amounts = typed.map(([name, text = '']) => [name, parseMoney(text, currency)] as const);
  if (amounts.some(([, amount]) => amount === undefined))
    return { query, hint: 'Type amounts as numbers, such as 58 or 58.00.' };
  return {
    query: { ...query, ...Object.fromEntries(amounts.map(([name, amount]) => [name, String(amount)])) },
  };
}
