import type { Store } from '../state/store.ts';
import { existing } from '../wire/existing.ts';
import type { TaxRate } from '../wire/objects.ts';
import type { Operation } from '../wire/operation.ts';
import {
  applyMetadata,
  array,
  bool,
  clearable,
  metadata,
  object,
  oneOf,
  type Parser,
  present,
  required,
  text,
} from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

/** From 0 to 100, with at most four decimals. */
const percentage: Parser<number> = (node, path) => {
  const value = typeof node === 'string' && /^\d{1,3}(\.\d{1,4})?$/.test(node) ? Number(node) : -1;
  if (value < 0 || value > 100) throw badParam('Invalid percentage: must be a number from 0 to 100.', path);
  return value;
};

const changeable = {
  active: bool,
  country: text(),
  description: text(),
  display_name: text(),
  jurisdiction: text(),
  metadata,
  state: text(),
  tax_type: text(),
};

const taxRates = new Resource('tax_rates', (store) => store.taxRates);

export const taxRateOperations: readonly Operation[] = [
  taxRates.operation(
    'create',
    'POST',
    {
      ...changeable,
      display_name: required(text()),
      inclusive: required(bool),
      percentage: required(percentage),
    },
    ({ store }, params) => {
      const rate = store.put(store.taxRates, {
        id: store.taxRates.newId(),
        object: 'tax_rate',
        active: true,
        country: null,
        created: store.now(),
        description: null,
        effective_percentage: null,
        flat_amount: null,
        jurisdiction: null,
        jurisdiction_level: null,
        livemode: false,
        rate_type: 'percentage',
        state: null,
        tax_type: null,
        ...present(params),
        display_name: params.display_name,
        inclusive: params.inclusive,
        percentage: params.percentage,
        metadata: applyMetadata({}, params.metadata),
      });
      store.emit('tax_rate.created', rate);
      return rate;
    },
  ),
  taxRates.retrieve(),
  taxRates.operation('update', 'POST *', changeable, (call, params) => {
    const before = taxRates.existing(call);
    const after = call.store.change(call.store.taxRates, before, {
      ...present(params),
      metadata: applyMetadata(before.metadata ?? {}, params.metadata),
    });
    call.store.emitUpdated('tax_rate.updated', before, after);
    return after;
  }),
  taxRates.list({ active: bool, inclusive: bool }, { equal: ['active', 'inclusive'] }),
];

/** The processor's own limit for one object. */
const ratesMax = 5;
export const taxRatesParam = clearable(array(text(), ratesMax));

/** The tax rates with these ids, as other objects contain them. */
export function taxRatesFrom(
  store: Store,
  ids: readonly string[] | null | undefined,
  path: string,
): TaxRate[] {
  return (ids ?? []).map((id, index) => existing(store.taxRates, id, `${path}[${index}]`));
}

export const automaticTaxParam = object({
  enabled: required(bool),
  liability: object({ type: required(oneOf('self')) }),
});

/** Automatic taxes depend on where the customer is. */
export function checkTaxLocation(store: Store, customerId: string): void {
  const customer = store.customers.get(customerId);
  if (customer?.deleted !== true && (customer?.address?.country ?? null) === null)
    throw badParam(
      "The customer's location isn't recognized. Set a valid customer address in order to automatically calculate tax.",
      undefined,
      'customer_tax_location_invalid',
    );
}
