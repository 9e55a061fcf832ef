import { clearable, object, type Parser, required, text } from '../wire/params.ts';

interface Address {
  readonly city: string | null;
  readonly country: string | null;
  readonly line1: string | null;
  readonly line2: string | null;
  readonly postal_code: string | null;
  readonly state: string | null;
}

const parts = object({
  city: clearable(text()),
  country: clearable(text()),
  line1: clearable(text()),
  line2: clearable(text()),
  postal_code: clearable(text()),
  state: clearable(text()),
});

/** Parses an address. Missing fields are null. */
export const address: Parser<Address> = (node, path) => {
  const { city, country, line1, line2, postal_code, state } = parts(node, path);
  return {
    city: city ?? null,
    country: country ?? null,
    line1: line1 ?? null,
    line2: line2 ?? null,
    postal_code: postal_code ?? null,
    state: state ?? null,
  };
};

export const noAddress: Address = {
  city: null,
  country: null,
  line1: null,
  line2: null,
  postal_code: null,
  state: null,
};

export interface Shipping {
  readonly address: Address;
  readonly carrier: string | null;
  readonly name: string;
  readonly phone: string | null;
  readonly tracking_number: string | null;
}

const shippingParts = object({
  address: required(address),
  carrier: clearable(text()),
  name: required(text()),
  phone: clearable(text()),
  tracking_number: clearable(text()),
});

/** Parses shipping details. Missing fields are null. */
export const shipping: Parser<Shipping> = (node, path) => {
  const { carrier, phone, tracking_number, ...rest } = shippingParts(node, path);
  return {
    ...rest,
    carrier: carrier ?? null,
    phone: phone ?? null,
    tracking_number: tracking_number ?? null,
  };
};
