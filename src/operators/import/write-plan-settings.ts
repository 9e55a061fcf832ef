import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Plan, PlanFacts } from '#core/model/plan.ts';
import { refreshObject } from '#engine/sync/refresh-object.ts';
import { objectMissing } from '#processor/port/attempt.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { ImportContext } from './import-context.ts';
import { missingSettings, type PlanSettings, withSettings } from './plan-settings.ts';

/** All prices of the account, with their products. */
export async function listPrices({
  processor,
}: Pick<ImportContext, 'processor'>): Promise<readonly PlanFacts[]> {
  const all: PlanFacts[] = [];
  for await (const { items } of processor.plans.list()) all.push(...items);
  return all;
}

/**
 * Writes the settings that the processor does not have yet. A repeated call continues where the first one stopped:
 * every write is one that is still missing, and rows are compared with the settings and not with the writes.
 */
export async function writePlanSettings(
  context: ImportContext,
  settings: PlanSettings,
  { isAllowed }: { readonly isAllowed: () => Promise<void> },
): Promise<void> {
  const { products, prices } = settings;
  const named = (await listPrices(context)).filter(
    ({ product, price }) => products.has(product.processorProductId) || prices.has(price.processorPriceId),
  );
  const missing = missingSettings(settings, named);
  for (const [processorProductId, change] of missing.products) {
    const processorPriceId = priceOf(named, processorProductId);
    await isAllowed();
    await update(context, { ...change, processorProductId, processorPriceId });
  }
  for (const { product, price } of named) {
    const { processorPriceId } = price;
    const change = missing.prices.get(processorPriceId);
    if (change === undefined) continue;
    const { processorProductId } = product;
    await isAllowed();
    await update(context, { ...change, processorProductId, processorPriceId });
  }
  await refreshRows(context, settings, named);
}

async function update(
  { processor }: ImportContext,
  change: Omit<Parameters<Processor['plans']['update']>[0], 'idempotencyKey'>,
): Promise<void> {
  const attempt = await processor.plans.update({ ...change, idempotencyKey: randomUUID() });
  if (attempt.outcome !== 'done') throw objectMissing('plan');
}

function priceOf(plans: readonly PlanFacts[], productId: string): string {
  const plan = plans.find(({ product }) => product.processorProductId === productId);
  if (plan === undefined) throw new Error(`the product ${productId} has no price`);
  return plan.price.processorPriceId;
}

/** Plans that were adopted before have rows, which the list of plans may have passed already. */
async function refreshRows(
  { database, mirrors, logger }: ImportContext,
  settings: PlanSettings,
  named: readonly PlanFacts[],
): Promise<void> {
  const keys = named.map(({ price }) => price.processorPriceId);
  const rows = keys.length === 0 ? [] : await mirrors.plans.findByKeys(database, keys);
  const wanted = new Map(named.map((facts) => [facts.price.processorPriceId, withSettings(facts, settings)]));
  for (const row of rows) {
    const after = wanted.get(row.processorPriceId);
    if (after === undefined || isDeepStrictEqual(shown(row), shownFacts(after))) continue;
    await refreshObject(mirrors.plans, row.processorPriceId, logger);
  }
}

function shown({ name, groupName, features, addOn, repeatable }: Plan) {
  return { name, groupName, features, addOn, repeatable };
}

function shownFacts({ product: { name, groupName, features }, price: { addOn, repeatable } }: PlanFacts) {
  return { name, groupName, features, addOn: addOn ?? false, repeatable: repeatable ?? false };
}
