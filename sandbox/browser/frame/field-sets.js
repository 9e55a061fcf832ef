import {
  brandOf,
  cvcMistake,
  expiryMistake,
  formatCvc,
  formatExpiry,
  formatNumber,
  isFullNumber,
  numberMistake,
  postalCodeMistake,
} from './card-values.js';

/**
 * One field of a frame. Its name, label and placeholder are those of the real library, which tests look for.
 * @typedef {{
 *   key: string, name: string, label: string, hint?: string, placeholder?: string, autocomplete: string,
 *   stableName?: string, type?: 'text' | 'email' | 'tel' | 'country', isNumeric?: boolean, isOptional?: boolean,
 *   value?: string, format?: (text: string) => string, isFull?: (values: Values) => boolean,
 *   mistake?: (values: Values) => import('./card-values.js').Mistake | null,
 *   isShown?: (values: Values) => boolean,
 * }} Field
 * @typedef {Record<string, string>} Values
 */

/**
 * The fields of an element.
 * @param {string} type
 * @param {Record<string, any>} options
 * @param {boolean} asksBilling
 * @returns {readonly Field[]}
 */
export function fieldsOf(type, options, asksBilling) {
  if (type === 'payment') return paymentFields(options, asksBilling);
  if (type === 'linkAuthentication') return [emailField(options)];
  if (type === 'address') return addressFields(options);
  const placeholder = options['placeholder'];
  const parts = {
    cardNumber: [{ ...number, placeholder: placeholder ?? '1234 1234 1234 1234' }],
    cardExpiry: [{ ...expiry, placeholder: placeholder ?? 'MM / YY' }],
    cardCvc: [{ ...cvc, placeholder: placeholder ?? 'CVC' }],
    card: [number, expiry, cvc, ...(options['hidePostalCode'] ? [] : [zipOf(options)])],
  };
  return parts[/** @type {keyof typeof parts} */ (type)] ?? [];
}

/** @type {Field} */
const number = {
  key: 'number',
  name: 'cardnumber',
  label: 'Credit or debit card number',
  placeholder: 'Card number',
  autocomplete: 'cc-number',
  stableName: 'cardNumber',
  isNumeric: true,
  format: formatNumber,
  isFull: ({ number: text = '' }) => isFullNumber(text) && numberMistake(text) === null,
  mistake: ({ number: text = '' }) => numberMistake(text),
};

/** @type {Field} */
const expiry = {
  key: 'expiry',
  name: 'exp-date',
  label: 'Credit or debit card expiration date',
  placeholder: 'MM / YY',
  autocomplete: 'cc-exp',
  stableName: 'cardExpiry',
  isNumeric: true,
  format: formatExpiry,
  isFull: ({ expiry: text = '' }) => expiryMistake(text, new Date()) === null,
  mistake: ({ expiry: text = '' }) => expiryMistake(text, new Date()),
};

/** @type {Field} */
const cvc = {
  key: 'cvc',
  name: 'cvc',
  label: 'Credit or debit card CVC/CVV',
  placeholder: 'CVC',
  autocomplete: 'cc-csc',
  stableName: 'cardCvc',
  isNumeric: true,
  format: formatCvc,
  isFull: ({ cvc: text = '', number: card = '' }) => text.length === (brandOf(card) === 'amex' ? 4 : 3),
  mistake: ({ cvc: text = '', number: card = '' }) => cvcMistake(text, brandOf(card)),
};

/** @param {Record<string, any>} options @returns {Field} */
function zipOf(options) {
  return {
    key: 'postalCode',
    name: 'postal',
    label: 'ZIP',
    placeholder: 'ZIP',
    autocomplete: 'billing postal-code',
    stableName: 'postalCode',
    value: options['value']?.postalCode,
    mistake: ({ postalCode = '' }) => postalCodeMistake(postalCode, true),
  };
}

/** The countries whose cards are checked with a postal code. */
const postalCountries = ['US', 'CA', 'GB'];

/** @param {Record<string, any>} options @param {boolean} asksBilling @returns {readonly Field[]} */
function paymentFields(options, asksBilling) {
  const asked = options['fields']?.billingDetails;
  const address = asked?.address;
  /** @param {string} part */
  const asks = (part) => asksBilling && ![asked, address, address?.[part]].includes('never');
  const known = options['defaultValues']?.billingDetails ?? {};
  /** @type {Field} */
  const country = {
    key: 'country',
    name: 'country',
    label: 'Country',
    autocomplete: 'billing country',
    type: 'country',
    value: known.address?.country ?? 'US',
  };
  /** @type {Field} */
  const postalCode = {
    key: 'postalCode',
    name: 'postalCode',
    label: 'ZIP code',
    placeholder: '12345',
    autocomplete: 'billing postal-code',
    value: known.address?.postal_code,
    isShown: ({ country: code = 'US' }) => postalCountries.includes(code),
    mistake: ({ postalCode: text = '', country: code }) => postalCodeMistake(text, code === 'US'),
  };
  /** @type {Field[]} */
  const contact = ['name', 'email', 'phone'].flatMap((part) =>
    asked?.[part] === 'always'
      ? [textField(part, contactLabels[part] ?? part, `billing ${part}`, known[part])]
      : [],
  );
  return [
    { ...number, name: 'number', label: 'Card number', placeholder: '1234 1234 1234 1234' },
    { ...expiry, name: 'expiry', label: 'Expiration date', hint: 'MM / YY' },
    { ...cvc, name: 'cvc', label: 'Security code' },
    ...contact,
    ...(asks('country') ? [country] : []),
    ...(asks('postalCode') ? [postalCode] : []),
  ];
}

/** @type {Record<string, string>} */
const contactLabels = { name: 'Full name', email: 'Email', phone: 'Phone number' };

/** @param {Record<string, any>} options @returns {Field} */
function emailField(options) {
  return {
    ...textField('email', 'Email', 'email', options['defaultValues']?.email),
    type: 'email',
    placeholder: 'you@example.com',
    mistake: ({ email = '' }) =>
      /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email)
        ? null
        : { code: 'incomplete_email', message: 'Your email address is incomplete.' },
  };
}

/** @param {Record<string, any>} options @returns {readonly Field[]} */
function addressFields(options) {
  const mode = options['mode'];
  const known = options['defaultValues'] ?? {};
  const address = known.address ?? {};
  /** @type {(key: string, label: string, autocomplete: string, value: string) => Field} */
  const field = (key, label, autocomplete, value) => textField(key, label, `${mode} ${autocomplete}`, value);
  return [
    ...(options['fields']?.name === 'never' ? [] : [field('name', 'Full name', 'name', known.name)]),
    { ...field('country', 'Country or region', 'country', address.country ?? 'US'), type: 'country' },
    field('addressLine1', 'Address', 'address-line1', address.line1),
    { ...field('addressLine2', 'Address line 2', 'address-line2', address.line2), isOptional: true },
    field('locality', 'City', 'address-level2', address.city),
    { ...field('administrativeArea', 'State', 'address-level1', address.state), isOptional: true },
    field('postalCode', 'ZIP code', 'postal-code', address.postal_code),
    ...(options['fields']?.phone === 'always' ? [field('phone', 'Phone number', 'tel', known.phone)] : []),
  ];
}

/**
 * @param {string} key
 * @param {string} label
 * @param {string} autocomplete
 * @param {string} [value]
 * @returns {Field}
 */
function textField(key, label, autocomplete, value = '') {
  return {
    key,
    name: key,
    label,
    autocomplete,
    value: value ?? '',
    mistake: (values) =>
      (values[key] ?? '').trim() === ''
        ? { code: `incomplete_${key.toLowerCase()}`, message: 'This field is incomplete.' }
        : null,
  };
}
