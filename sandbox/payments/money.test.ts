import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WireError } from '../wire/wire-error.ts';
import { checkChargeable, currency, display } from './money.ts';

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    if (error instanceof WireError) return error.body.code ?? 'refused';
    throw error;
  }
  return undefined;
}

test('each currency has its own bounds', () => {
  const cases: [number, string, string | undefined][] = [
    [49, 'usd', 'amount_too_small'],
    [50, 'usd', undefined],
    [99_999_999, 'usd', undefined],
    [100_000_000, 'usd', 'amount_too_large'],
    [29, 'gbp', 'amount_too_small'],
    [30, 'gbp', undefined],
    [49, 'jpy', 'amount_too_small'],
    [9_999_999_999, 'jpy', undefined],
    [1_000_000_000_000, 'idr', 'amount_too_large'],
    [1_001, 'kwd', 'parameter_invalid_integer'],
    [1_010, 'kwd', undefined],
    [5_000_001, 'tnd', 'parameter_invalid_integer'],
  ];
  for (const [amount, code, expected] of cases)
    assert.equal(
      codeOf(() => checkChargeable(amount, code)),
      expected,
      `${amount} ${code}`,
    );
});

test('currencies are known by their code, in any case', () => {
  assert.equal(currency('EUR', 'currency'), 'eur');
  for (const wrong of ['', 'xxx', 'euro', 'us$'])
    assert.equal(
      codeOf(() => currency(wrong, 'currency')),
      'refused',
    );
});

test('amounts are shown with as many decimals as their currency has', () => {
  assert.deepEqual(
    [display(1_250, 'usd'), display(1_250, 'jpy'), display(1_250, 'kwd')],
    ['12.50 usd', '1250 jpy', '1.250 kwd'],
  );
});
