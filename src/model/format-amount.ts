/**
 * Currencies whose smallest unit, as the processor counts it, is not a hundredth. ISK and UGX are missing on purpose:
 * they have no decimals, but the processor still counts them in hundredths.
 */
const withoutDecimals = 'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' ');
const withThreeDecimals = 'BHD JOD KWD OMR TND'.split(' ');

/** Formats an amount in the smallest unit: 500 and `eur` give `5.00 EUR`, 500 and `jpy` give `500 JPY`. */
export function formatAmount(amount: number, currency: string): string {
  const code = currency.toUpperCase();
  const decimals = decimalsOf(code);
  const digits = String(amount).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals);
  return decimals === 0 ? `${whole} ${code}` : `${whole}.${fraction} ${code}`;
}

/** The number of decimals in which the processor counts amounts of a currency. */
export function decimalsOf(code: string): number {
  if (withoutDecimals.includes(code)) return 0;
  return withThreeDecimals.includes(code) ? 3 : 2;
}
