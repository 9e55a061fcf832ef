import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amountsOf } from './searched-amounts.ts';

/** The amounts as texts such as `eur 5800`. Without a sign, the currencies of two decimals are `*`. */
function found(text: string): readonly string[] {
  return amountsOf(text).flatMap(({ amount, currencies }) =>
    currencies === null ? [`* ${amount}`] : currencies.map((currency) => `${currency} ${amount}`),
  );
}

test('an amount without a sign has decimals, with a point or a comma, and is read in the decimals of each currency', () => {
  const amounts = (text: string) => amountsOf(text).map(({ amount }) => amount);
  for (const text of ['58.00', '58,00', '５８．００']) assert.deepEqual(amounts(text), [58, 5_800, 58_000]);
  for (const text of ['1234.56', '1,234.56', '1.234,56', "1'234.56", '1’234.56', '1\u202f234,56'])
    assert.deepEqual(amounts(text), [123_456, 1_234_560], text);
  assert.deepEqual(amounts('1,250'), [1_250]);
  assert.deepEqual(amountsOf('12.34')[0], { amount: 1_234, currencies: null });
  assert.ok(found('58.00').includes('jpy 58') && found('58.00').includes('kwd 58000'));
  for (const text of ['58', '58.0', '58.', '.58', '-58.00', '1,2,3.00', '58.0000', '5800'])
    assert.deepEqual(amountsOf(text), [], text);
});

test('an amount with the sign or the code of its currency, before or after it, may be a whole number', () => {
  for (const text of [
    '€58',
    '58 €',
    '58€',
    '€ 58.00',
    '58,00 €',
    '58,0 €',
    'EUR 58',
    '58 eur',
    '58.00 EUR',
    '\u200f€58\u200e',
  ])
    assert.deepEqual(found(text), ['eur 5800'], text);
  assert.deepEqual(found('£5,000'), ['gbp 500000']);
  assert.deepEqual(found('1.234.567,89\u00a0€'), ['eur 123456789']);
  assert.deepEqual(found('58,00 zł'), ['pln 5800']);
  assert.deepEqual(found('US$1,234.50'), ['usd 123450']);
  assert.deepEqual(found('R$ 10'), ['brl 1000']);
});

test('a sign of several currencies means each of them, in its own decimals', () => {
  for (const text of ['¥5000', '￥5,000', '5000¥', '¥５０００'])
    assert.deepEqual(found(text), ['jpy 5000', 'cny 500000'], text);
  assert.deepEqual(found('¥5000.00'), ['jpy 5000', 'cny 500000']);
  assert.deepEqual(found('¥5000.50'), ['cny 500050']);
  for (const text of ['5000円', 'JPY 5000']) assert.deepEqual(found(text), ['jpy 5000'], text);
  assert.deepEqual(found('₩12,000'), ['krw 12000']);
  const dollars = found('$1,234.50');
  for (const one of ['usd 123450', 'cad 123450', 'aud 123450']) assert.ok(dollars.includes(one), one);
  assert.ok(!dollars.some((one) => one.startsWith('clp')));
  assert.ok(found('$5000').includes('clp 5000'));
  assert.deepEqual(found('KWD 1.250'), ['kwd 1250', 'kwd 1250000']);
  assert.deepEqual(found('1.250 BHD'), ['bhd 1250', 'bhd 1250000']);
});

test('a text with anything else is no amount', () => {
  for (const text of [
    ...[
      '€',
      '58 €€',
      '€58€',
      '€ 58 EUR',
      '-€58',
      '€-58',
      '€58.',
      '€.58',
      '€1,2,3',
      '58 euros',
      '58 e',
      '58 %',
    ],
    ...[
      '€5 8',
      '€ 1234567890123',
      '€58.0000',
      'constructor 58',
      '__p 58',
      'ada 58 €',
      '5\u00008 €',
      '€'.repeat(255),
    ],
    ...[
      ' '.repeat(100),
      `58${' '.repeat(200)}x`,
      '1'.repeat(255),
      `${'1,111'.repeat(50)} €`,
      '\ud800 58',
      '😀58',
    ],
  ])
    assert.deepEqual(amountsOf(text), [], text);
});
