import { shorten } from '../wire/form.ts';
import type { Parser } from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';

/** The processor's presentment currencies. */
const currencies = new Set(
  `usd aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bhd bif bmd bnd bob brl bsd bwp byn bzd cad cdf chf
   clp cny cop crc cve czk djf dkk dop dzd egp etb eur fjd fkp gbp gel gip gmd gnf gtq gyd hkd hnl htg huf idr ils
   inr isk jmd jod jpy kes kgs khr kmf krw kwd kyd kzt lak lbp lkr lrd lsl mad mdl mga mkd mmk mnt mop mur mvr mwk
   mxn myr mzn nad ngn nio nok npr nzd omr pab pen pgk php pkr pln pyg qar ron rsd rub rwf sar sbd scr sek sgd shp
   sle sos srd std szl thb tjs tnd top try ttd twd tzs uah ugx uyu uzs vnd vuv wst xaf xcd xcg xof xpf yer zar zmw`
    .trim()
    .split(/\s+/),
);

/** The processor's minimum charges, in the smallest unit. */
const amountMinimums: Readonly<Record<string, number>> = {
  aed: 200,
  bgn: 100,
  czk: 1_500,
  dkk: 250,
  gbp: 30,
  hkd: 400,
  huf: 17_500,
  mxn: 1_000,
  myr: 200,
  nok: 300,
  pln: 200,
  ron: 200,
  sek: 300,
  thb: 1_000,
};
/** For example 0.50 USD, 0.50 EUR or 50 JPY. Also used for currencies without a published minimum. */
const amountMinimumDefault = 50;

/** Eight digits. Some currencies allow more. */
const amountMaximumDefault = 99_999_999;
const amountMaximums: Readonly<Record<string, number>> = {
  idr: 999_999_999_999,
  lbp: 999_999_999_999,
  cop: 9_999_999_999,
  huf: 9_999_999_999,
  jpy: 9_999_999_999,
  inr: 999_999_999,
};

export const currency: Parser<string> = (node, path) => {
  const code = typeof node === 'string' ? node.toLowerCase() : '';
  if (!currencies.has(code))
    throw badParam(
      `Invalid currency: ${typeof node === 'string' ? shorten(code) : 'not a string'}. Use a three-letter ISO code of a currency that the processor supports.`,
      path,
    );
  return code;
};

/** Rejects an amount that a card cannot be charged. `rule` begins the text for an amount that is too small. */
export function checkChargeable(
  amount: number,
  code: string,
  param = 'amount',
  rule = 'Amount must be',
): void {
  const minimum = amountMinimums[code] ?? amountMinimumDefault;
  if (amount < minimum)
    throw badParam(`${rule} at least ${display(minimum, code)}`, param, 'amount_too_small');
  checkAmount(amount, code, param);
}

export function checkAmount(amount: number, code: string, param: string): void {
  const maximum = amountMaximums[code] ?? amountMaximumDefault;
  if (amount > maximum)
    throw badParam(`Amount must be no more than ${display(maximum, code)}`, param, 'amount_too_large');
  checkRound(amount, code, param);
}

/** The processor documents the rule, but not the text of the error. */
export function checkRound(amount: number, code: string, param: string): void {
  if (amount % unitOf(code) === 0) return;
  throw badParam(
    `Invalid amount: ${amount}. Amounts in ${code} must be evenly divisible by ${unitOf(code)}.`,
    param,
    'parameter_invalid_integer',
  );
}

/** The smallest step between amounts that can be charged: payments in currencies with three decimals end in 0. */
export function unitOf(code: string): number {
  return threeDecimal.has(code) ? 10 : 1;
}

const zeroDecimal = new Set('bif clp djf gnf jpy kmf krw mga pyg rwf ugx vnd vuv xaf xof xpf'.split(' '));
const threeDecimal: ReadonlySet<string> = new Set('bhd jod kwd omr tnd'.split(' '));

function digitsOf(code: string): number {
  return zeroDecimal.has(code) ? 0 : threeDecimal.has(code) ? 3 : 2;
}

/** An amount in a readable form: `12.50 usd`. */
export function display(amount: number, code: string): string {
  const digits = digitsOf(code);
  return `${(amount / 10 ** digits).toFixed(digits)} ${code}`;
}

/** Creating a format takes much longer than using it. There are only as many formats as currencies. */
const formats = new Map<string, Intl.NumberFormat>();

/** An amount as the processor writes it on invoices: `$12.50`. */
export function priceText(amount: number, code: string): string {
  const digits = digitsOf(code);
  const format =
    formats.get(code) ??
    new Intl.NumberFormat('en-US', {
      style: 'currency',
      currency: code,
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    });
  formats.set(code, format);
  return format.format(amount / 10 ** digits);
}
