import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { Subscription, TaxRate } from '../wire/objects.ts';
import * as p from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

/** From 0 to 100, with at most four decimals. */
const percentage: p.Parser<number> = (node, path) => {
  const value = typeof node === 'string' && /^\d{1,3}(\.\d{1,4})?$/.test(node) ? Number(node) : -1;
  if (value < 0 || value > 100) throw badParam('Invalid percentage: must be a number from 0 to 100.', path);
  return value;
};

const changeable = {
  ...p.each(p.text(), 'country description display_name jurisdiction state tax_type'),
  active: p.bool,
  metadata: p.metadata,
};

const taxRates = new Resource('tax_rates', (store) => store.taxRates);

export const taxRateOperations = [
  taxRates.create(
    {
      ...changeable,
      display_name: p.required(p.text()),
      inclusive: p.required(p.bool),
      percentage: p.required(percentage),
    },
    ({ store }, params) => {
      return store.record('tax_rate.created', store.taxRates, {
        ...store.blank(store.taxRates, 'tax_rate'),
        active: true,
        ...nulls(
          'country description effective_percentage flat_amount jurisdiction jurisdiction_level state',
          'tax_type',
        ),
        rate_type: 'percentage',
        ...p.present(params),
        display_name: params.display_name,
        inclusive: params.inclusive,
        percentage: params.percentage,
        metadata: p.applyMetadata({}, params.metadata),
      });
    },
  ),
  taxRates.retrieve(),
  taxRates.update(changeable, ({ store }, before, params) =>
    store.update('tax_rate.updated', store.taxRates, before, {
      ...p.present(params),
      metadata: p.applyMetadata(before.metadata ?? {}, params.metadata),
    }),
  ),
  taxRates.list(p.each(p.bool, 'active inclusive')),
];

/** The processor's own limit for one object. */
const ratesMax = 5;
export const taxRatesParam = p.clearable(p.array(p.text(), ratesMax));

/** The tax rates with these ids, as other objects contain them. */
export function taxRatesFrom(
  store: Store,
  ids: readonly string[] | null | undefined,
  path: string,
): TaxRate[] {
  return (ids ?? []).map((id, index) => store.taxRates.existing(id, `${path}[${index}]`));
}

export const automaticTaxParam = p.object({
  enabled: p.required(p.bool),
  liability: p.object({ type: p.required(p.oneOf('self')) }),
});

/** How an object shows what was asked for. */
export function automaticTaxFrom({ enabled }: { readonly enabled: boolean }): Subscription['automatic_tax'] {
  return { disabled_reason: null, enabled, liability: enabled ? { type: 'self' } : null };
}

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
