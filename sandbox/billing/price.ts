import type { Store } from '../state/store.ts';
import type { Price } from '../wire/objects.ts';
import { applyMetadata, type MetadataChange } from '../wire/params.ts';
import type { Interval } from './calendar.ts';
import { planOf } from './subscription-items.ts';

interface NewPrice {
  readonly product: string;
  readonly currency: string;
  readonly unitAmount: number;
  readonly active?: boolean | undefined;
  readonly lookup_key?: string | undefined;
  readonly metadata?: MetadataChange | undefined;
  readonly nickname?: string | undefined;
  readonly recurring?:
    | { readonly interval: Interval; readonly interval_count: number | undefined }
    | undefined;
  readonly tax_behavior?: 'exclusive' | 'inclusive' | 'unspecified' | undefined;
}

export function createPrice(store: Store, input: NewPrice): Price {
  const price = store.put(store.prices, {
    id: store.prices.newId(),
    object: 'price',
    active: input.active ?? true,
    billing_scheme: 'per_unit',
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
            meter: null,
            trial_period_days: null,
            usage_type: 'licensed',
          },
    tax_behavior: input.tax_behavior ?? 'unspecified',
    tiers_mode: null,
    transform_quantity: null,
    type: input.recurring === undefined ? 'one_time' : 'recurring',
    unit_amount: input.unitAmount,
    unit_amount_decimal: String(input.unitAmount),
  });
  if (price.recurring !== null) store.emit('plan.created', planOf(price));
  store.emit('price.created', price);
  return price;
}
