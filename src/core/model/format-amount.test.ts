import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAmount } from './format-amount.ts';

test('an amount is formatted with the decimals that its currency has at the processor', () => {
  const cases: readonly (readonly [number, string, string])[] = [
    [500, 'eur', '5.00 EUR'],
    [1, 'usd', '0.01 USD'],
    [99, 'gbp', '0.99 GBP'],
    [0, 'eur', '0.00 EUR'],
    [999_999_999_999, 'eur', '9999999999.99 EUR'],
    [500, 'jpy', '500 JPY'],
    [0, 'jpy', '0 JPY'],
    [5_000, 'kwd', '5.000 KWD'],
    [10, 'bhd', '0.010 BHD'],
    [500, 'isk', '5.00 ISK'],
    [500, 'ugx', '5.00 UGX'],
  ];
  for (const [amount, currency, text] of cases) assert.equal(formatAmount(amount, currency), text);
});
