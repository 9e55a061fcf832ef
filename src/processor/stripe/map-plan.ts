import { planIntervals } from '../../plans/plan.ts';
import type { PlanFacts, PriceFacts, ProductFacts } from '../processor-facts.ts';
import { newest, WireObject } from './wire-object.ts';

export function mapProduct(value: unknown, eventTime?: Date): ProductFacts {
  const product = WireObject.parse(value, 'product').expectKind('product');
  const createdAt = product.moment('created');
  return {
    processorProductId: product.text('id'),
    localId: product.localId(),
    name: product.text('name'),
    active: product.flag('active') && !product.isDeleted(),
    createdAt,
    asOf: eventTime ?? newest(createdAt, product.optionalMoment('updated')),
  };
}

export function mapPrice(value: unknown, eventTime?: Date): PriceFacts {
  const price = WireObject.parse(value, 'price').expectKind('price');
  const createdAt = price.moment('created');
  return {
    processorPriceId: price.text('id'),
    processorProductId: price.reference('product'),
    localId: price.localId(),
    amount: price.amountOrNull('unit_amount'),
    currency: price.currency('currency'),
    interval: intervalOf(price),
    active: price.flag('active'),
    createdAt,
    asOf: eventTime ?? createdAt,
  };
}

/** A price whose product was expanded, as create, read and list ask for it. */
export function mapPlan(value: unknown): PlanFacts {
  const price = WireObject.parse(value, 'price');
  return { price: mapPrice(value), product: mapProduct(price.raw('product')) };
}

function intervalOf(price: WireObject): PriceFacts['interval'] {
  const recurring = price.objectOrNull('recurring');
  if (recurring === null || recurring.wholeNumber('interval_count') !== 1) return null;
  return recurring.oneOf('interval', planIntervals);
}
