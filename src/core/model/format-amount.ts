/**
 * Currencies whose smallest unit, as the processor counts it, is not a hundredth. ISK and UGX are missing on purpose:
 * they have no decimals, but the processor still counts them in hundredths.
 */
const withoutDecimals = 'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' ');
const withThreeDecimals = 'BHD JOD KWD OMR TND'.split(' ');

/** Formats an amount in the smallest unit: 500 and `eur` give `5.00 EUR`, 500 and `jpy` give `500 JPY`. */
export function formatAmount(amount: number, currency: string): string {
  return `${decimalAmount(amount, currency)} ${currency.toUpperCase()}`;
}

/** An amount as a plain decimal number: 500 and `eur` give `5.00`, -500 and `jpy` give `-500`. */
export function decimalAmount(amount: number, currency: string): string {
  const decimals = decimalsOf(currency.toUpperCase());
  const digits = String(Math.abs(amount)).padStart(decimals + 1, '0');
  const [whole, fraction] = [
    digits.slice(0, digits.length - decimals),
    digits.slice(digits.length - decimals),
  ];
  return `${amount < 0 ? '-' : ''}${whole}${decimals === 0 ? '' : `.${fraction}`}`;
}

/** The currencies with 0 or 3 decimals, in lower case. All others have two. */
export function currenciesWith(decimals: number): readonly string[] {
  const codes = decimals === 0 ? withoutDecimals : decimals === 3 ? withThreeDecimals : [];
  return codes.map((code) => code.toLowerCase());
}

/** The number of decimals in which the processor counts amounts of a currency. */
export function decimalsOf(code: string): number {
  if (withoutDecimals.includes(code)) return 0;
  return withThreeDecimals.includes(code) ? 3 : 2;
}

/** The message for an amount that is not round. */
export const roundAmountMistake = 'must end in 0 in a currency with three decimals';

/** In currencies with three decimals the processor accepts only amounts that end in 0. */
export function isRoundAmount(amount: number, currency: string): boolean {
  return decimalsOf(currency.toUpperCase()) < 3 || amount % 10 === 0;
}
