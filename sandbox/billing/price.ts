import type { Store } from '../state/store.ts';
import type { Price, PriceTiers } from '../wire/objects.ts';
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
        readonly usage_type?: 'licensed' | 'metered' | undefined;
      }
    | undefined;
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
            trial_period_days: null,
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
  if (input.tiers !== undefined) {
    const tiers: PriceTiers = { id: price.id, object: 'price_tiers', tiers: input.tiers };
    store.put(store.priceTiers, tiers);
  }
  if (price.recurring !== null) store.emit('plan.created', planOf(price));
  store.emit('price.created', price);
  return price;
}
