import type { Store } from '../state/store.ts';
import type { CurrencyOption, Plan, Price, PriceTiers, Pricing } from '../wire/objects.ts';
import { applyMetadata, type MetadataChange, present } from '../wire/params.ts';
import type { Interval } from './calendar.ts';

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
    ...store.blank(store.prices, 'price'),
    active: input.active ?? true,
    billing_scheme: input.tiers === undefined ? 'per_unit' : 'tiered',
    currency: input.currency,
    custom_unit_amount: null,
    lookup_key: input.lookup_key ?? null,
    metadata: applyMetadata({}, input.metadata),
    nickname: input.nickname ?? null,
    product: input.product,
    recurring:
      input.recurring === undefined
        ? null
        : {
            interval_count: 1,
            meter: null,
            trial_period_days: null,
            usage_type: 'licensed',
            ...present(input.recurring),
            interval: input.recurring.interval,
          },
    tax_behavior: input.tax_behavior ?? 'unspecified',
    tiers_mode: input.tiers_mode ?? null,
    transform_quantity: input.transform_quantity ?? null,
    type: input.recurring === undefined ? 'one_time' : 'recurring',
    ...unitAmounts(input.unitAmount),
  });
  if (input.tiers !== undefined || input.currencies !== undefined) {
    const hidden: PriceTiers = {
      id: price.id,
      object: 'price_tiers',
      tiers: input.tiers ?? [],
      ...(input.currencies !== undefined && { currencies: input.currencies }),
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
  return { custom_unit_amount: null, tax_behavior: taxBehavior, ...unitAmounts(unitAmount) };
}

/** Only whole amounts are shown as a number. */
export function unitAmounts(amount: number | null) {
  return {
    unit_amount: Number.isInteger(amount) ? amount : null,
    unit_amount_decimal: amount === null ? null : String(amount),
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

type Terms = Pick<
  Price,
  'billing_scheme' | 'recurring' | 'tiers_mode' | 'transform_quantity' | 'unit_amount_decimal'
>;
type Tiers = PriceTiers['tiers'];

/** What this quantity costs for a whole period. */
export function costOf(store: Store, price: Price, quantity: number | undefined): number {
  return priceAmount(price, store.priceTiers.get(price.id)?.tiers ?? [], quantity ?? 1);
}

/** Usage is counted by a meter. The item has no quantity. */
export function isMetered({ recurring }: Pick<Price, 'recurring'>): boolean {
  return recurring?.usage_type === 'metered';
}

/** The amount for a quantity, rounded once. The sandbox counts no usage, so metered prices cost nothing. */
export function priceAmount(price: Terms, tiers: Tiers, quantity: number): number {
  if (isMetered(price)) return 0;
  if (price.billing_scheme === 'tiered')
    return Math.round(
      price.tiers_mode === 'volume' ? volumeAmount(tiers, quantity) : graduatedAmount(tiers, quantity),
    );
  return Math.round(Number(price.unit_amount_decimal) * transformed(price.transform_quantity, quantity));
}

/** All units have the price of the tier that contains the quantity. */
function volumeAmount(tiers: Tiers, quantity: number): number {
  const tier = tiers.find(({ up_to: last }) => last === null || quantity <= last);
  return tier === undefined ? 0 : tierAmount(tier, quantity);
}

/** Each tier prices its own units. The flat amount of the first tier is due even for none. */
function graduatedAmount(tiers: Tiers, quantity: number): number {
  let below = 0;
  let amount = 0;
  for (const [index, tier] of tiers.entries()) {
    const { up_to: last } = tier;
    const units = Math.min(quantity, last ?? quantity) - below;
    if (units <= 0 && index > 0) break;
    amount += tierAmount(tier, units);
    below = last ?? quantity;
  }
  return amount;
}

function tierAmount(tier: Tiers[number], units: number): number {
  return Number(tier.flat_amount_decimal) + Number(tier.unit_amount_decimal) * units;
}

function transformed(transform: Price['transform_quantity'], quantity: number): number {
  if (transform === null) return quantity;
  const groups = quantity / transform.divide_by;
  return transform.round === 'up' ? Math.ceil(groups) : Math.floor(groups);
}

/** How a line or an invoice item shows its price. A proration has another amount per unit. */
export function pricingOf(
  { id, product, unit_amount_decimal }: Price,
  unitAmount: string | null = unit_amount_decimal,
): Pricing {
  return {
    type: 'price_details',
    price_details: { price: id, product },
    unit_amount_decimal: unitAmount,
  };
}

/** The price in the form of the older plan object, which items still contain. */
export function planOf(price: Price): Plan {
  return {
    id: price.id,
    object: 'plan',
    active: price.active,
    amount: price.unit_amount,
    amount_decimal: price.unit_amount_decimal,
    billing_scheme: price.billing_scheme,
    created: price.created,
    currency: price.currency,
    interval: price.recurring?.interval ?? 'month',
    interval_count: price.recurring?.interval_count ?? 1,
    livemode: false,
    metadata: price.metadata,
    meter: price.recurring?.meter ?? null,
    nickname: price.nickname,
    product: price.product,
    tiers_mode: price.tiers_mode,
    transform_usage: price.transform_quantity,
    trial_period_days: price.recurring?.trial_period_days ?? null,
    usage_type: price.recurring?.usage_type ?? 'licensed',
  };
}
