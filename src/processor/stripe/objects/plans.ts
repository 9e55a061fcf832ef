import type { ChangedPlanFacts, PriceFacts, ProductFacts } from '#core/model/plan.ts';
import { noFeatures } from '#core/model/plan-features.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import type { Attempt, PlanCalls } from '../../port/processor.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { fetchFrom, mapPages } from '../wire/listing.ts';
import { searchMarked, withRequest } from '../wire/request-marks.ts';
import { done, missing, nullIfMissing, sinceCreation } from '../wire/responses.ts';
import { changedMetadata, creationMetadata, withSentMetadata } from '../wire/wire-metadata.ts';
import { localIdKey, withKnownLinks } from '../wire/wire-object.ts';
import { mapPlan, mapPrice, mapProduct } from './map-plan.ts';
import {
  changedPlanMetadata,
  changedPriceMetadata,
  newPlanMetadata,
  newPriceMetadata,
  type PriceChange,
} from './plan-metadata.ts';

/** Every response shows the product too. */
const expand = ['product'];

export function createPlanCalls(context: AdapterContext): PlanCalls {
  const { stripe, call } = context;
  const read: PlanCalls['read'] = (processorPriceId) =>
    call.read('plans.read', {
      send: (options) => stripe.prices.retrieve(processorPriceId, { expand }, options),
      take: (response, asOf) => mapPlan(withKnownLinks(response, { localId: null }), asOf),
      refused: nullIfMissing,
    });

  return {
    create: (plan) => createPlan(context, plan),

    read,

    archive: async ({ processorPriceId, processorProductId, keepsProduct = false, idempotencyKey }) => {
      // A processor key belongs to one call, so each of the two calls needs its own.
      const price = await archivePrice(
        context,
        { processorPriceId, processorProductId },
        `${idempotencyKey}:price`,
      );
      if (price.outcome !== 'done') return price;
      if (keepsProduct) {
        const plan = await read(processorPriceId);
        if (plan !== null) return done(plan);
      }
      const product = await archiveProduct(context, processorProductId, `${idempotencyKey}:product`);
      if (product.outcome !== 'done') return product;
      return done({ price: price.value, product: product.value });
    },

    update: async ({ addOn, repeatable, processorPriceId, ...change }) => {
      if (addOn === undefined && repeatable === undefined) return updateProduct(context, change);
      const { processorProductId: _, idempotencyKey, ...values } = change;
      if (Object.keys(values).length > 0) {
        const product = await updateProduct(context, change);
        if (product.outcome !== 'done') return product;
      }
      // A processor key belongs to one call. The response shows the product too.
      return updatePrice(context, { processorPriceId, addOn, repeatable }, `${idempotencyKey}:price`);
    },

    find: async (lookUp) => {
      const found = await searchMarked(
        context,
        {
          listing: 'plans.list',
          list: (filter) => fetchFrom(stripe.prices, filter),
          searching: 'plans.search',
          search: (params, options) => stripe.prices.search(params, options),
        },
        lookUp,
      );
      return found === null ? null : withRequest(found, await read(found.id));
    },

    list: ({ processorProductId, ...place } = {}) => {
      const filter = processorProductId === undefined ? {} : { product: processorProductId };
      const fetch = fetchFrom(stripe.prices, { ...filter, expand: ['data.product'] });
      return mapPages(context, 'plans.list', fetch, mapPlan, place);
    },
  };
}

function createPlan(
  { stripe, call }: AdapterContext,
  { id, mark, idempotencyKey, ...plan }: Parameters<PlanCalls['create']>[0],
): ReturnType<PlanCalls['create']> {
  const { name, amount, currency, interval, intervalCount = 1, metadata = {} } = plan;
  const { features = noFeatures, group: groupName = null } = plan;
  const priceMetadata = newPriceMetadata(plan);
  return call.write('plans.create', {
    idempotencyKey,
    send: (options) =>
      stripe.prices.create(
        {
          currency,
          unit_amount: amount,
          recurring: { interval, ...(intervalCount === 1 ? {} : { interval_count: intervalCount }) },
          product_data: {
            name,
            metadata: { ...metadata, ...newPlanMetadata(features, groupName), [localIdKey]: id },
          },
          metadata: { ...creationMetadata({ id, mark }), ...priceMetadata },
          expand,
        },
        options,
      ),
    take: (response, asOf) => {
      const known = withKnownLinks(withSentMetadata(response, priceMetadata), { localId: id });
      const { price, product } = mapPlan(known, sinceCreation(response, asOf));
      // The processor bills the amount that it stores, so the caller's amount cannot replace a missing one.
      if (price.amount === null) throw new UnmappableError('price.unit_amount is null, not an amount');
      return {
        price: price.interval === null ? { ...price, interval, intervalCount } : price,
        product: {
          ...product,
          ...(product.metadata === null ? { metadata, features, groupName } : {}),
          localId: id,
          name: product.name ?? name,
        },
      };
    },
  });
}

function updateProduct(
  { stripe, call }: AdapterContext,
  {
    processorProductId,
    name,
    metadata,
    features,
    group,
    idempotencyKey,
  }: Omit<Parameters<PlanCalls['update']>[0], 'addOn' | 'repeatable' | 'processorPriceId'>,
): Promise<Attempt<ProductFacts>> {
  return call.write('plans.update', {
    idempotencyKey,
    send: (options) =>
      stripe.products.update(
        processorProductId,
        {
          ...(name === undefined ? {} : { name }),
          ...changedMetadata({ ...metadata, ...changedPlanMetadata(features, group) }),
        },
        options,
      ),
    take: (response, asOf) => {
      const facts = mapProduct(withKnownLinks(response, { localId: null }), asOf);
      if (facts.deleted) throw new UnmappableError('the changed product is shown as deleted');
      return done({ ...facts, name: facts.name ?? name ?? null }, response);
    },
    refused: missing,
  });
}

function updatePrice(
  context: AdapterContext,
  { processorPriceId, ...change }: { readonly processorPriceId: string } & PriceChange,
  idempotencyKey: string,
): Promise<Attempt<ChangedPlanFacts>> {
  return context.call.write('plans.update_price', {
    idempotencyKey,
    send: (options) =>
      context.stripe.prices.update(
        processorPriceId,
        { ...changedMetadata(changedPriceMetadata(change)), expand },
        options,
      ),
    take: (response, asOf) => {
      const { price, product } = mapPlan(withKnownLinks(response, { localId: null }), asOf);
      const shown = {
        addOn: price.addOn ?? change.addOn ?? null,
        repeatable: price.repeatable ?? change.repeatable ?? null,
      };
      return done({ ...product, price: { ...price, ...shown } }, response);
    },
    refused: missing,
  });
}

function archivePrice(
  context: AdapterContext,
  { processorPriceId, processorProductId }: Pick<PriceFacts, 'processorPriceId' | 'processorProductId'>,
  idempotencyKey: string,
): Promise<Attempt<PriceFacts>> {
  return context.call.write('plans.archive_price', {
    idempotencyKey,
    send: (options) => context.stripe.prices.update(processorPriceId, { active: false }, options),
    take: (response, asOf) =>
      done(mapPrice(withKnownLinks(response, { localId: null, product: processorProductId }), asOf)),
    refused: missing,
  });
}

function archiveProduct(
  context: AdapterContext,
  id: string,
  idempotencyKey: string,
): Promise<Attempt<ProductFacts>> {
  return context.call.write('plans.archive_product', {
    idempotencyKey,
    send: (options) => context.stripe.products.update(id, { active: false }, options),
    take: (response, asOf) => done(mapProduct(withKnownLinks(response, { localId: null }), asOf)),
    refused: missing,
  });
}
