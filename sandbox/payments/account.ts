/** The country of the account. Objects and the account itself must agree on it. */
export const accountCountry = 'DE';

/** The currency of an invoice that has neither a currency nor items. */
export const accountCurrency = 'eur';
