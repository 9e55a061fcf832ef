import type { Store } from '../state/store.ts';
import type { CurrencyOption, Price, PriceTiers } from '../wire/objects.ts';
import { applyMetadata, type MetadataChange } from '../wire/params.ts';
import type { Interval } from './calendar.ts';
import { planOf } from './subscription-items.ts';

interface NewPrice {
  readonly product: string;
  readonly currency: string;
  /** Null if the price has tiers. */
  readonly unitAmount: number | null;
  readonly active?: boolean | undefined;
  readonly lookup_key?: string | undefined;
  readonly metadata?: MetadataChange | undefined;
  readonly nickname?: string | undefined;
  readonly recurring?:
    | {
        readonly interval: Interval;
        readonly interval_count?: number | undefined;
        readonly meter?: string | undefined;
        readonly trial_period_days?: number | undefined;
        readonly usage_type?: 'licensed' | 'metered' | undefined;
      }
    | undefined;
  readonly currencies?: Readonly<Record<string, CurrencyOption>> | undefined;
  readonly tiers?: PriceTiers['tiers'] | undefined;
  readonly tiers_mode?: 'graduated' | 'volume' | undefined;
  readonly transform_quantity?: Price['transform_quantity'] | undefined;
  readonly tax_behavior?: 'exclusive' | 'inclusive' | 'unspecified' | undefined;
}

export function createPrice(store: Store, input: NewPrice): Price {
  const price = store.put(store.prices, {
    id: store.prices.newId(),
    object: 'price',
    active: input.active ?? true,
    billing_scheme: input.tiers === undefined ? 'per_unit' : 'tiered',
    created: store.now(),
    currency: input.currency,
    custom_unit_amount: null,
    livemode: false,
    lookup_key: input.lookup_key ?? null,
    metadata: applyMetadata({}, input.metadata),
    nickname: input.nickname ?? null,
    product: input.product,
    recurring:
      input.recurring === undefined
        ? null
        : {
            interval: input.recurring.interval,
            interval_count: input.recurring.interval_count ?? 1,
            meter: input.recurring.meter ?? null,
            trial_period_days: input.recurring.trial_period_days ?? null,
            usage_type: input.recurring.usage_type ?? 'licensed',
          },
    tax_behavior: input.tax_behavior ?? 'unspecified',
    tiers_mode: input.tiers_mode ?? null,
    transform_quantity: input.transform_quantity ?? null,
    type: input.recurring === undefined ? 'one_time' : 'recurring',
    // Only whole amounts are shown in this field.
    unit_amount: Number.isInteger(input.unitAmount) ? input.unitAmount : null,
    unit_amount_decimal: input.unitAmount === null ? null : String(input.unitAmount),
  });
  if (input.tiers !== undefined || input.currencies !== undefined) {
    const hidden: PriceTiers = {
      id: price.id,
      object: 'price_tiers',
      tiers: input.tiers ?? [],
      ...(input.currencies === undefined ? {} : { currencies: input.currencies }),
    };
    store.put(store.priceTiers, hidden);
  }
  if (price.recurring !== null) store.emit('plan.created', planOf(price));
  store.emit('price.created', price);
  return price;
}

export function currencyOption(
  unitAmount: number | null,
  taxBehavior: CurrencyOption['tax_behavior'] = 'unspecified',
): CurrencyOption {
  return {
    custom_unit_amount: null,
    tax_behavior: taxBehavior,
    unit_amount: Number.isInteger(unitAmount) ? unitAmount : null,
    unit_amount_decimal: unitAmount === null ? null : String(unitAmount),
  };
}

/** Adds or replaces the amounts of the price in other currencies. */
export function addCurrencies(
  store: Store,
  id: string,
  options: Readonly<Record<string, CurrencyOption>>,
): void {
  const before: PriceTiers = store.priceTiers.get(id) ?? { id, object: 'price_tiers', tiers: [] };
  store.put(store.priceTiers, { ...before, currencies: { ...before.currencies, ...options } });
}

/** The price as it is in a currency. Undefined if it has no amount in it. */
export function priceIn(store: Store, price: Price, currency: string | undefined): Price | undefined {
  if (currency === undefined || currency === price.currency) return price;
  const option = store.priceTiers.get(price.id)?.currencies?.[currency];
  if (option === undefined) return undefined;
  const { unit_amount, unit_amount_decimal } = option;
  return { ...price, currency, unit_amount, unit_amount_decimal };
}
