/**
 * What people type into the fields of a card: how it is shown, and what is wrong with it. The codes and the messages
 * are those of the real library.
 */

/** @typedef {{ code: string, message: string }} Mistake */

/** @type {readonly { brand: string, start: RegExp, lengths: readonly number[], groups: readonly number[] }[]} */
const brands = [
  { brand: 'amex', start: /^3[47]/, lengths: [15], groups: [4, 6, 5] },
  { brand: 'diners', start: /^3(0[0-5]|[689])/, lengths: [14, 16], groups: [4, 4, 4, 4] },
  { brand: 'jcb', start: /^35/, lengths: [16], groups: [4, 4, 4, 4] },
  { brand: 'discover', start: /^6(011|4[4-9]|5)/, lengths: [16], groups: [4, 4, 4, 4] },
  { brand: 'unionpay', start: /^62/, lengths: [16, 19], groups: [4, 4, 4, 4, 3] },
  { brand: 'mastercard', start: /^(5[1-5]|2[2-7])/, lengths: [16], groups: [4, 4, 4, 4] },
  { brand: 'visa', start: /^4/, lengths: [16], groups: [4, 4, 4, 4] },
];
const unknownBrand = { brand: 'unknown', start: /^/, lengths: [16], groups: [4, 4, 4, 4] };

/** @param {string} text */
function kindOf(text) {
  return brands.find(({ start }) => start.test(digitsOf(text))) ?? unknownBrand;
}

/** @param {string} text */
export function brandOf(text) {
  return kindOf(text).brand;
}

/** @param {string} text */
export function digitsOf(text) {
  return text.replaceAll(/\D/g, '');
}

/** @param {string} text */
export function formatNumber(text) {
  const { groups, lengths } = kindOf(text);
  let rest = digitsOf(text).slice(0, Math.max(...lengths));
  const parts = [];
  for (const size of groups) {
    if (rest === '') break;
    parts.push(rest.slice(0, size));
    rest = rest.slice(size);
  }
  return parts.join(' ');
}

/** Whether no more digits can follow. @param {string} text */
export function isFullNumber(text) {
  return digitsOf(text).length === Math.max(...kindOf(text).lengths);
}

/** @param {string} text @returns {Mistake | null} */
export function numberMistake(text) {
  const digits = digitsOf(text);
  if (!kindOf(digits).lengths.includes(digits.length))
    return { code: 'incomplete_number', message: 'Your card number is incomplete.' };
  return passesLuhn(digits) ? null : { code: 'invalid_number', message: 'Your card number is invalid.' };
}

/** Shows `1234`, `12/34` and `12/2034` as `12 / 34`. @param {string} text */
export function formatExpiry(text) {
  // People type the separator after a month of one digit.
  const padded = text.replace(/^\s*(\d)\s*[/-]/, '0$1/').replace(/^([2-9])/, '0$1');
  const digits = digitsOf(padded);
  const year = digits.slice(2);
  const shortYear = year.length > 2 && year.startsWith('20') ? year.slice(2, 4) : year.slice(0, 2);
  const isOpen = digits.length < 2 || (digits.length === 2 && !/[/-]/.test(padded));
  return isOpen ? digits : `${digits.slice(0, 2)} / ${shortYear}`;
}

/** @param {string} text */
export function expiryOf(text) {
  const digits = digitsOf(text);
  return { exp_month: Number(digits.slice(0, 2)), exp_year: 2_000 + Number(digits.slice(2, 4)) };
}

/** As at the processor. */
const expiryYearsMax = 50;

/** @param {string} text @param {Date} now @returns {Mistake | null} */
export function expiryMistake(text, now) {
  const digits = digitsOf(text);
  const { exp_month: month, exp_year: year } = expiryOf(text);
  if (digits.length >= 2 && (month < 1 || month > 12))
    return { code: 'invalid_expiry_month', message: "Your card's expiration month is invalid." };
  if (digits.length < 4)
    return { code: 'incomplete_expiry', message: "Your card's expiration date is incomplete." };
  if (year < now.getFullYear())
    return { code: 'invalid_expiry_year_past', message: "Your card's expiration year is in the past." };
  if (year === now.getFullYear() && month < now.getMonth() + 1)
    return { code: 'invalid_expiry_month_past', message: "Your card's expiration date is in the past." };
  if (year > now.getFullYear() + expiryYearsMax)
    return { code: 'invalid_expiry_year', message: "Your card's expiration year is invalid." };
  return null;
}

/** @param {string} text */
export function formatCvc(text) {
  return digitsOf(text).slice(0, 4);
}

/** @param {string} text @param {string} brand @returns {Mistake | null} */
export function cvcMistake(text, brand) {
  const isRight = brand === 'amex' || brand === 'unknown' ? text.length >= 3 : text.length === 3;
  return isRight ? null : { code: 'incomplete_cvc', message: "Your card's security code is incomplete." };
}

/**
 * American postal codes have five digits. Others are only known not to be empty.
 * @param {string} text
 * @param {boolean} isAmerican
 * @returns {Mistake | null}
 */
export function postalCodeMistake(text, isAmerican) {
  const isComplete = isAmerican && /^\d*$/.test(text) ? text.length >= 5 : text.trim() !== '';
  return isComplete ? null : { code: 'incomplete_zip', message: 'Your postal code is incomplete.' };
}

/** @param {string} digits */
function passesLuhn(digits) {
  let sum = 0;
  for (const [place, digit] of [...digits].reverse().entries()) {
    const doubled = place % 2 === 1 ? Number(digit) * 2 : Number(digit);
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
