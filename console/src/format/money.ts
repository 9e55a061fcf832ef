import { decimalsOf } from '../../../src/core/model/format-amount.ts';

/** An amount in the smallest unit, in the reader's language: 500 and `eur` give €5.00, 500 and `jpy` give ¥500. */
export function money(amount: number, currency: string): string {
  const decimals = decimalsOf(currency.toUpperCase());
  return new Intl.NumberFormat(undefined, {
    style: 'currency',
    currency,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  }).format(amount / 10 ** decimals);
}

/** An amount as a person types it in an input: 1250 and `eur` give 12.50. */
export function moneyInput(amount: number, currency: string): string {
  const decimals = decimalsOf(currency.toUpperCase());
  return (amount / 10 ** decimals).toFixed(decimals);
}

/** The smallest units that a typed amount means. Undefined if it is not an amount of the currency. */
export function parseMoney(text: string, currency: string): number | undefined {
  const decimals = decimalsOf(currency.toUpperCase());
  const match = /^(\d{1,12})(?:[.,](\d{1,3}))?$/.exec(text.trim());
  if (match === null) return undefined;
  const [, whole = '', fraction = ''] = match;
  if (fraction.length > decimals) return undefined;
  return Number(whole + fraction.padEnd(decimals, '0'));
}

/** Whether a typed text can be a currency. */
export function isCurrency(text: string): boolean {
  return /^[a-z]{3}$/i.test(text.trim());
}
