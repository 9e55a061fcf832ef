import { currenciesWith, decimalsOf } from '#core/model/format-amount.ts';
import type { CurrencyAmounts } from '../mirrors/find-by-amounts.ts';

const dollars =
  'usd ars aud bbd bmd bnd bsd bzd cad clp cop dop fjd gyd hkd jmd kyd lrd mxn nad nzd sbd sgd srd ttd twd uyu xcd';

/** What people write for a currency besides its code, each with its possible currencies. */
const signs: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    '€': 'eur',
    '£': 'gbp',
    $: dollars,
    '¥': 'jpy cny',
    円: 'jpy',
    元: 'cny',
    원: 'krw',
    '₩': 'krw',
    '₹': 'inr',
    '₽': 'rub',
    us$: 'usd',
    a$: 'aud',
    au$: 'aud',
    c$: 'cad',
    ca$: 'cad',
    nz$: 'nzd',
    s$: 'sgd',
    hk$: 'hkd',
    nt$: 'twd',
    mx$: 'mxn',
    r$: 'brl',
    'cn¥': 'cny',
    'jp¥': 'jpy',
    rmb: 'cny',
    rs: 'inr lkr mur npr pkr scr',
    kr: 'sek nok dkk isk',
    zł: 'pln',
    kč: 'czk',
    ft: 'huf',
    lei: 'ron',
    лв: 'bgn',
    fr: 'chf',
    sfr: 'chf',
    '₺': 'try',
    '₪': 'ils',
    '₫': 'vnd',
    '₴': 'uah',
    '฿': 'thb',
    '₱': 'php',
    '₦': 'ngn',
    '₸': 'kzt',
    '₵': 'ghs',
    '₡': 'crc',
    '₲': 'pyg',
    '₭': 'lak',
    '₮': 'mnt',
    '₼': 'azn',
    '₾': 'gel',
  }).map(([sign, currencies]) => [sign, currencies.split(' ')]),
);

/** A number, with a sign or a code of up to three characters on one side. */
const amountPattern = /^([^\d\s.,'+-]{0,3}) ?(\d[\d.,' ]{0,20}?) ?([^\d\s.,'+-]{0,3})$/u;
/** The longest amounts that the API accepts have 12 digits in the smallest unit. */
const wholePattern = /^(?:\d{1,12}|\d{1,3}(?:[.,' ]\d{3}){1,3})$/;
const decimalPattern = /^(\d{1,12}|\d{1,3}(?:[.,' ]\d{3}){1,3})[.,](\d{1,3})$/;

/**
 * The amounts that a text such as `58.00`, `€58` or `1.234,50 EUR` means. Without a sign or a code it has two or three
 * decimals: `58` is probably something else. Three decimals mean an amount only in a currency that has them: in others
 * `1,000` is a thousand.
 */
export function amountsOf(text: string): CurrencyAmounts {
  const [, before = '', number = '', after = ''] = amountPattern.exec(plainTextOf(text)) ?? [];
  if (number === '' || (before !== '' && after !== '')) return [];
  const sign = before || after;
  const currencies = sign === '' ? null : (signs.get(sign) ?? (/^[a-z]{3}$/.test(sign) ? [sign] : []));
  return [0, 2, 3].flatMap((decimals) => {
    const ofDecimals = withDecimals(currencies, decimals);
    if (ofDecimals?.length === 0) return [];
    return readings(number, decimals, currencies !== null).map((amount) => ({
      amount,
      currencies: ofDecimals,
    }));
  });
}

/** Full-width and narrow characters as usual ones, without marks for the direction of the text. */
function plainTextOf(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .replaceAll('’', "'")
    .trim()
    .toLowerCase();
}

function withDecimals(currencies: readonly string[] | null, decimals: number): readonly string[] | null {
  if (currencies !== null) return currencies.filter((code) => decimalsOf(code.toUpperCase()) === decimals);
  return decimals === 2 ? null : currenciesWith(decimals);
}

/** The value of a number in a currency: `1,250` can be more than a thousand, or have decimals. */
function readings(number: string, decimals: number, hasSign: boolean): readonly number[] {
  const found: number[] = [];
  const [, whole, fraction = ''] = decimalPattern.exec(number) ?? [];
  const isFraction = decimals === 0 ? /^0{1,2}$/.test(fraction) : fraction.length <= decimals;
  if (whole !== undefined && isFraction && (hasSign || fraction.length > 1))
    found.push(Number(digitsOf(whole) + fraction.padEnd(decimals, '0').slice(0, decimals)));
  if (hasSign && wholePattern.test(number)) found.push(Number(digitsOf(number) + '0'.repeat(decimals)));
  return found;
}

function digitsOf(number: string): string {
  return number.replace(/\D/g, '');
}
