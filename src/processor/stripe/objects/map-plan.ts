import type { AsOf } from '#core/model/facts.ts';
import { type PlanFacts, type PriceFacts, type ProductFacts, planIntervals } from '#core/model/plan.ts';
import type { PriceObstacle } from '#core/model/price-obstacle.ts';
import { metadataOf } from '../wire/wire-metadata.ts';
import { ifReadable, WireObject, withKnownLinks } from '../wire/wire-object.ts';
import { addOnOf, featuresOf, groupNameOf, repeatableOf } from './plan-metadata.ts';

export function mapProduct(value: unknown, asOf: AsOf): ProductFacts {
  const product = WireObject.parse(value, 'product').expectKind('product');
  const deleted = product.isDeleted();
  return {
    processorProductId: product.text('id'),
    localId: product.localId(),
    name: product.optionalText('name'),
    metadata: metadataOf(product),
    features: featuresOf(product),
    groupName: groupNameOf(product),
    active: !deleted && product.flag('active'),
    ...(deleted ? { deleted } : {}),
    createdAt: product.createdAt(asOf.earliest),
    asOf,
  };
}

export function mapPrice(value: unknown, asOf: AsOf): PriceFacts {
  const price = WireObject.parse(value, 'price').expectKind('price');
  return {
    processorPriceId: price.text('id'),
    processorProductId: price.reference('product'),
    localId: price.localId(),
    amount: price.amountOrNull('unit_amount'),
    currency: price.currency('currency'),
    ...recurrenceOf(price),
    ...obstacleOf(price),
    addOn: addOnOf(price),
    repeatable: repeatableOf(price),
    active: price.flag('active'),
    createdAt: price.createdAt(asOf.earliest),
    asOf,
  };
}

/** A price with its product expanded, as create, read and list request it. The Till id is on the price. */
export function mapPlan(value: unknown, asOf: AsOf): PlanFacts {
  const price = WireObject.parse(value, 'price');
  return {
    price: mapPrice(value, asOf),
    product: mapProduct(withKnownLinks(price.raw('product'), { localId: null }), asOf),
  };
}

/** Three years of days: the processor's longest billing period. */
const intervalCountMax = 1_095;

function recurrenceOf(price: WireObject): Pick<PriceFacts, 'interval' | 'intervalCount'> {
  const recurring = price.optional('object', 'recurring');
  if (recurring === null) return { interval: null, intervalCount: 1 };
  const recurrence = ifReadable(() => {
    const intervalCount = recurring.has('interval_count') ? recurring.amount('interval_count', 1) : 1;
    const isShown = intervalCount <= intervalCountMax;
    return isShown ? { interval: recurring.oneOf('interval', planIntervals), intervalCount } : null;
  });
  return recurrence ?? { interval: null, intervalCount: 1 };
}

/** Why a price cannot be a Till plan. A field that the response leaves out is no obstacle. */
export function obstacleOf(price: WireObject): { readonly obstacle?: PriceObstacle } {
  const shown = (field: string) => price.has(field) && price.raw(field) !== null;
  const usage = price.optional('object', 'recurring')?.optionalText('usage_type');
  const obstacles: readonly (PriceObstacle | false)[] = [
    price.optionalText('type') === 'one_time' && 'one_time',
    price.optionalText('billing_scheme') === 'tiered' && 'tiered',
    usage === 'metered' && 'metered',
    shown('transform_quantity') && 'packaged',
    shown('custom_unit_amount') && 'custom_amount',
    price.has('unit_amount') && !shown('unit_amount') && 'fraction',
    shown('recurring') && recurrenceOf(price).interval === null && 'interval',
  ];
  const obstacle = obstacles.find((one) => one !== false);
  return obstacle ? { obstacle } : {};
}
