import { nulls } from '../wire/nulls.ts';
import * as p from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';

type Address = Readonly<
  Record<'city' | 'country' | 'line1' | 'line2' | 'postal_code' | 'state', string | null>
>;

const parts = p.object(p.each(p.clearable(p.text()), 'city country line1 line2 postal_code state'));

/** Parses an address. Missing fields are null. */
export const address: p.Parser<Address> = (node, path) => ({
  ...noAddress,
  ...p.present(parts(node, path)),
});

export const noAddress: Address = nulls('city country line1 line2 postal_code state');

/** The code of a country. */
export const country: p.Parser<string> = (node, path) => {
  if (typeof node !== 'string' || !/^[A-Z]{2}$/.test(node))
    throw badParam(`"${path}" must be two capital letters, such as "DE".`, path);
  return node;
};

export interface Shipping {
  readonly address: Address;
  readonly carrier: string | null;
  readonly name: string;
  readonly phone: string | null;
  readonly tracking_number: string | null;
}

const shippingParts = p.object({
  ...p.each(p.clearable(p.text()), 'carrier phone tracking_number'),
  address: p.required(address),
  name: p.required(p.text()),
});

/** Parses shipping details. Missing fields are null. */
export const shipping: p.Parser<Shipping> = (node, path) => {
  const { address, name, ...others } = shippingParts(node, path);
  return { ...nulls('carrier phone tracking_number'), ...p.present(others), address, name };
};
