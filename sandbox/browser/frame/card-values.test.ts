import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testCards } from '../../payments/test-cards.ts';
import {
  brandOf,
  cvcMistake,
  expiryMistake,
  expiryOf,
  formatExpiry,
  formatNumber,
  isFullNumber,
  numberMistake,
  postalCodeMistake,
} from './card-values.js';

test('every test card is a complete number of its brand', () => {
  for (const { number, brand } of testCards) {
    assert.equal(numberMistake(number), null, number);
    assert.equal(brandOf(number), brand, number);
    assert.ok(isFullNumber(number), number);
  }
});

test('numbers are grouped as on the card', () => {
  assert.equal(formatNumber('4242424242424242999'), '4242 4242 4242 4242');
  assert.equal(formatNumber('3782-822463-10005'), '3782 822463 10005');
  assert.equal(formatNumber('42424x'), '4242 4');
  assert.equal(numberMistake('4242 4242')?.code, 'incomplete_number');
  assert.equal(numberMistake('4242 4242 4242 4241')?.code, 'invalid_number');
});

test('an expiry date is read however it is typed', () => {
  const shown = { '1': '1', '12': '12', '12/': '12 / ', '1234': '12 / 34', '12/2034': '12 / 34' };
  for (const [typed, text] of Object.entries({ ...shown, '3': '03', '3/34': '03 / 34', '1/39': '01 / 39' }))
    assert.equal(formatExpiry(typed), text, typed);
  assert.deepEqual(expiryOf('01 / 39'), { exp_month: 1, exp_year: 2_039 });
});

test('the codes of wrong expiry dates are those of the real library', () => {
  const now = new Date('2026-11-16T12:00:00Z');
  const codeOf = (text: string) => expiryMistake(text, now)?.code;
  assert.deepEqual(
    ['', '12 / 3', '13 / 30', '12 / 25', '10 / 26', '11 / 26', '12 / 76', '01 / 77'].map(codeOf),
    [
      'incomplete_expiry',
      'incomplete_expiry',
      'invalid_expiry_month',
      'invalid_expiry_year_past',
      'invalid_expiry_month_past',
      undefined,
      undefined,
      'invalid_expiry_year',
    ],
  );
});

test('security codes and postal codes depend on the brand and the country', () => {
  assert.equal(cvcMistake('123', 'visa'), null);
  assert.equal(cvcMistake('1234', 'amex'), null);
  assert.equal(cvcMistake('1234', 'visa')?.code, 'incomplete_cvc');
  assert.equal(postalCodeMistake('1234', true)?.code, 'incomplete_zip');
  assert.equal(postalCodeMistake('SW1A 1AA', false), null);
});
