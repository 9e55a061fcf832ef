import { countries } from '../browser/frame/countries.js';
import type { Customer } from '../wire/objects.ts';
import { type Html, html } from './page.ts';

/** The names are those of the processor's own page, which public tests use. */
const parts = [
  ['line1', 'billingAddressLine1', 'Address', 'address-line1'],
  ['line2', 'billingAddressLine2', 'Address line 2', 'address-line2'],
  ['postal_code', 'billingPostalCode', 'Postal code', 'postal-code'],
  ['city', 'billingLocality', 'City', 'address-level2'],
  ['state', 'billingAdministrativeArea', 'State', 'address-level1'],
] as const;

/** All parts of an address, or only its country and postal code. */
export function addressFields(known: Customer['address'] | undefined, isWhole = true): Html {
  const inputs = parts
    .filter(([part]) => isWhole || part === 'postal_code')
    .map(
      ([part, name, label, autocomplete]) =>
        html`<label>${label}
<input id="${name}" name="${name}" autocomplete="billing ${autocomplete}" value="${known?.[part] ?? ''}">
</label>`,
    );
  return html`<label>Country
<select id="billingCountry" name="billingCountry" autocomplete="billing country"><option value="">Choose</option>${countries().map(
    ({ code, name }) =>
      html`<option value="${code}"${code === known?.country ? html` selected` : null}>${name}</option>`,
  )}</select>
</label>${inputs}`;
}

/** The address that was entered, or null if none was. */
export function addressIn(fields: URLSearchParams): Readonly<Record<string, string>> | null {
  const entered = [['country', 'billingCountry'] as const, ...parts].map(
    ([part, name]) => [part, fields.get(name)?.trim() ?? ''] as const,
  );
  return entered.some(([, value]) => value !== '') ? Object.fromEntries(entered) : null;
}
