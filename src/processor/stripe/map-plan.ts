import { planIntervals } from '../../plans/plan.ts';
import type { AsOf, PlanFacts, PriceFacts, ProductFacts } from '../processor-facts.ts';
import { WireObject } from './wire-object.ts';

export function mapProduct(value: unknown, asOf: AsOf): ProductFacts {
  const product = WireObject.parse(value, 'product').expectKind('product');
  return {
    processorProductId: product.text('id'),
    localId: product.localId(),
    name: product.text('name'),
    active: product.flag('active') && !product.isDeleted(),
    createdAt: product.moment('created'),
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
    interval: intervalOf(price),
    active: price.flag('active'),
    createdAt: price.moment('created'),
    asOf,
  };
}

/** A price whose product was expanded, as create, read and list ask for it. */
export function mapPlan(value: unknown, asOf: AsOf): PlanFacts {
  const price = WireObject.parse(value, 'price');
  return { price: mapPrice(value, asOf), product: mapProduct(price.raw('product'), asOf) };
}

function intervalOf(price: WireObject): PriceFacts['interval'] {
  const recurring = price.objectOrNull('recurring');
  if (recurring === null || recurring.wholeNumber('interval_count') !== 1) return null;
  return recurring.oneOf('interval', planIntervals);
}
