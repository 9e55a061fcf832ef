import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Price } from '../wire/objects.ts';
import { periodText, prorationText, trialText } from './line-text.ts';

const price = (currency: string, unit_amount: number, interval = 'month', interval_count = 1) =>
  // The description uses only these fields.
  ({ currency, unit_amount_decimal: String(unit_amount), recurring: { interval, interval_count } }) as Price;

test('a period names its quantity, product, price and interval', () => {
  assert.equal(periodText('Gold product', price('usd', 3_252), 1), '1 × Gold product (at $32.52 / month)');
  assert.equal(periodText('Seat', price('jpy', 1_980, 'year'), 3), '3 × Seat (at ¥1,980 / year)');
  assert.equal(periodText('Seat', price('eur', 900, 'month', 3), 2), '2 × Seat (at €9.00 every 3 months)');
  const tiered: Price = { ...price('usd', 0), billing_scheme: 'tiered' };
  assert.equal(periodText('Seat', tiered, 5), '5 × Seat (tiered / month)');
  assert.equal(periodText('Free', price('usd', 0), 1), '1 × Free (at $0.00 / month)');
});

test('a proration names its day, and its quantity if it is not one', () => {
  const period = { start: 1_598_982_148, end: 1_599_427_688 };
  const item = { id: 'si_1', price: 'price_1', amount: 1_000, quantity: 1, period };
  assert.equal(
    prorationText('Silver plan', { kind: 'credit', item, period }),
    'Unused time on Silver plan after 01 Sep 2020',
  );
  assert.equal(
    prorationText('Gold plan', { kind: 'debit', item: { ...item, quantity: 3 }, period }),
    'Remaining time on 3 × Gold plan after 01 Sep 2020',
  );
});

test('a trial names its product', () => {
  assert.equal(trialText('Coffee'), 'Trial period for Coffee');
});
