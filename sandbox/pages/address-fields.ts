import { countries } from '../browser/frame/countries.js';
import { noAddress } from '../payments/address.ts';
import type { Customer } from '../wire/objects.ts';
import { type Html, html } from './page.ts';

/** The names are those of the processor's own page, which public tests use, after `billing` or `shipping`. */
const parts = [
  ['line1', 'AddressLine1', 'Address', 'address-line1'],
  ['line2', 'AddressLine2', 'Address line 2', 'address-line2'],
  ['postal_code', 'PostalCode', 'Postal code', 'postal-code'],
  ['city', 'Locality', 'City', 'address-level2'],
  ['state', 'AdministrativeArea', 'State', 'address-level1'],
] as const;

type Address = Customer['address'];
type Purpose = 'billing' | 'shipping';

interface Asked {
  readonly purpose?: Purpose;
  /** False asks only for the country and the postal code. */
  readonly isWhole?: boolean;
  /** The codes of the countries to choose from. By default, all. */
  readonly allowed?: readonly string[];
}

export function addressFields(known: Address | undefined, asked: Asked = {}): Html {
  const { purpose = 'billing', isWhole = true, allowed } = asked;
  const inputs = parts
    .filter(([part]) => isWhole || part === 'postal_code')
    .map(
      ([part, name, label, autocomplete]) =>
        html`<label>${label}
<input id="${purpose}${name}" name="${purpose}${name}" autocomplete="${purpose} ${autocomplete}" value="${known?.[part] ?? ''}">
</label>`,
    );
  const options = countries()
    .filter(({ code }) => allowed === undefined || allowed.includes(code))
    .map(
      ({ code, name }) =>
        html`<option value="${code}"${code === known?.country ? html` selected` : null}>${name}</option>`,
    );
  return html`<label>Country
<select id="${purpose}Country" name="${purpose}Country" autocomplete="${purpose} country"><option value="">Choose</option>${options}</select>
</label>${inputs}`;
}

/** The address that was entered, or null if none was. */
export function addressIn(fields: URLSearchParams, purpose: Purpose = 'billing'): typeof noAddress | null {
  const entered = [['country', 'Country'] as const, ...parts].flatMap(([part, name]) => {
    const value = fields.get(`${purpose}${name}`)?.trim() ?? '';
    return value === '' ? [] : [[part, value]];
  });
  return entered.length === 0 ? null : { ...noAddress, ...Object.fromEntries(entered) };
}
