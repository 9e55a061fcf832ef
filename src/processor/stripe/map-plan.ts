import { planIntervals } from '../../plans/plan.ts';
import type { PlanFacts, PriceFacts, ProductFacts } from '../processor-facts.ts';
import { ifReadable, newest, WireObject, withKnownLinks } from './wire-object.ts';

export function mapProduct(value: unknown, eventTime?: Date): ProductFacts {
  const product = WireObject.parse(value, 'product').expectKind('product');
  const createdAt = product.createdAt(eventTime);
  const deleted = product.isDeleted();
  return {
    processorProductId: product.text('id'),
    localId: product.localId(),
    name: product.optionalText('name'),
    active: !deleted && product.flag('active'),
    ...(deleted ? { deleted } : {}),
    createdAt,
    asOf: eventTime ?? newest(createdAt, product.optionalMoment('updated')),
  };
}

export function mapPrice(value: unknown, eventTime?: Date): PriceFacts {
  const price = WireObject.parse(value, 'price').expectKind('price');
  const createdAt = price.createdAt(eventTime);
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

/** A price whose product was expanded, as create, read and list ask for it. Our id is the price's. */
export function mapPlan(value: unknown): PlanFacts {
  const price = WireObject.parse(value, 'price');
  return {
    price: mapPrice(value),
    product: mapProduct(withKnownLinks(price.raw('product'), { localId: null })),
  };
}

function intervalOf(price: WireObject): PriceFacts['interval'] {
  return ifReadable(() => {
    const recurring = price.object('recurring');
    const isSimple = !recurring.has('interval_count') || recurring.wholeNumber('interval_count') === 1;
    return isSimple ? recurring.oneOf('interval', planIntervals) : null;
  });
}
