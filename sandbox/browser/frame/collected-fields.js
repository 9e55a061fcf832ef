import { brandOf, digitsOf, expiryOf } from './card-values.js';

/** @typedef {Record<string, string>} Values */

/**
 * What the fields of an element mean to the API. Only frames of the sandbox see this.
 * @param {string} type
 * @param {Record<string, any>} options
 * @param {Values} values
 * @returns {{ card?: object, billing_details?: Record<string, any>, shipping?: object }}
 */
export function collectedFields(type, options, values) {
  if (type === 'linkAuthentication') return { billing_details: { email: values['email'] } };
  if (type === 'address') {
    const given = addressValue(values);
    return options['mode'] === 'shipping' ? { shipping: given } : { billing_details: given };
  }
  const { number, expiry, cvc, country, postalCode, name, email, phone } = values;
  const address = { ...given({ country, postal_code: postalCode }) };
  const billing = {
    ...given({ name, email, phone }),
    ...(Object.keys(address).length === 0 ? {} : { address }),
  };
  return {
    card: {
      ...(number === undefined ? {} : { number: digitsOf(number) }),
      ...(expiry === undefined ? {} : expiryOf(expiry)),
      ...given({ cvc }),
    },
    ...(Object.keys(billing).length === 0 ? {} : { billing_details: billing }),
  };
}

/**
 * What the page may know: the number and the security code are never part of it.
 * @param {string} type
 * @param {Record<string, any>} options
 * @param {Values} values
 */
export function shownFields(type, options, values) {
  if (type === 'payment') return { collapsed: false, value: { type: 'card' } };
  if (type === 'linkAuthentication') return { value: { email: values['email'] } };
  if (type === 'address')
    return { elementMode: options['mode'], isNewAddress: true, value: addressValue(values) };
  const brand = { brand: brandOf(values['number'] ?? '') };
  if (type === 'card') return { ...brand, value: { postalCode: values['postalCode'] ?? '' } };
  return type === 'cardNumber' ? brand : {};
}

/** @param {Values} values */
function addressValue(values) {
  return {
    name: values['name'] ?? '',
    ...given({ phone: values['phone'] }),
    address: {
      line1: values['addressLine1'] ?? '',
      line2: values['addressLine2'] || null,
      city: values['locality'] ?? '',
      state: values['administrativeArea'] ?? '',
      postal_code: values['postalCode'] ?? '',
      country: values['country'] ?? '',
    },
  };
}

/**
 * Leaves out what was not asked or not given.
 * @param {Record<string, string | undefined>} fields
 */
function given(fields) {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''),
  );
}
