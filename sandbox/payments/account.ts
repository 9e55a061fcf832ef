/** Where the account is. Objects and the account itself must agree on it. */
export const accountCountry = 'DE';

/** The currency of an invoice that names none and bills no items. */
export const accountCurrency = 'eur';
