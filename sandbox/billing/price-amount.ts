import type { Store } from '../state/store.ts';
import type { Price, PriceTiers, Pricing } from '../wire/objects.ts';

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
