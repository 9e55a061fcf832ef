import { isDeepStrictEqual } from 'node:util';
import type { PlanFacts } from '#core/model/plan.ts';
import {
  featuresMax,
  isFeature,
  isGroupName,
  noFeatures,
  type PlanFeatures,
} from '#core/model/plan-features.ts';
import { priceObstacles } from '#core/model/price-obstacle.ts';
import { isPlanName, type PlanEntries, type PlanEntry, PlanEntryError } from './plan-entries.ts';

/** The values of a product that are also values of its plans. */
type ProductSettings = Pick<PlanEntry, 'name' | 'group' | 'features'>;

/** The values of a price that are also values of its plan. */
type PriceSettings = Pick<PlanEntry, 'addOn' | 'repeatable'>;

/** The settings in the entries, by the processor's ids. */
export interface PlanSettings {
  readonly products: ReadonlyMap<string, ProductSettings>;
  readonly prices: ReadonlyMap<string, PriceSettings>;
}

export const noSettings: PlanSettings = { products: new Map(), prices: new Map() };

const productFields = ['name', 'group', 'features'] as const;
const priceFields = ['addOn', 'repeatable'] as const;

/** The processor's limit for one object. */
const metadataKeysMax = 50;
/** Two of the longest features fit into one value: see decision 0012. */
const featuresPerKey = 2;

/**
 * Assigns the entries to the products and prices of the account. `name`, `group` and `features` are the product's,
 * whether the entry names the product or one of its prices. `addOn` and `repeatable` are the price's. The entry of a
 * product sets them for all prices that have no entry with them. Throws an error that names every mistake.
 */
export function resolveEntries(entries: PlanEntries, account: readonly PlanFacts[]): PlanSettings {
  const byPrice = new Map(account.map((facts) => [facts.price.processorPriceId, facts]));
  const byProduct = Map.groupBy(account, ({ product }) => product.processorProductId);
  const mistakes: string[] = [];
  const products = new Map<string, ProductSettings>();
  const prices = new Map<string, PriceSettings>();
  const setBy = new Map<string, string>();
  const setProduct = (productId: string, id: string, entry: PlanEntry) => {
    for (const field of productFields) {
      if (entry[field] === undefined) continue;
      const place = `${productId} ${field}`;
      const other = setBy.get(place);
      const current = products.get(productId);
      if (other !== undefined && !isDeepStrictEqual(current?.[field], entry[field]))
        mistakes.push(
          `${other} and ${id} have different values of ${field}, which belongs to their product ${productId}. ` +
            'Give both the same value, or give it only once.',
        );
      setBy.set(place, other ?? id);
      products.set(productId, { ...current, [field]: entry[field] });
    }
  };
  for (const [id, entry] of entries) {
    const price = byPrice.get(id);
    const sold = price === undefined ? (byProduct.get(id) ?? []) : [price];
    const mistake = refuse(sold);
    const [first] = sold.filter(canBePlan);
    if (mistake !== undefined || first === undefined) {
      mistakes.push(`${id}: ${mistake}`);
      continue;
    }
    setProduct(first.product.processorProductId, id, entry);
    for (const field of priceFields) {
      const value = entry[field];
      if (value === undefined) continue;
      for (const { processorPriceId } of sold.filter(canBePlan).map((one) => one.price)) {
        const isOwn = entries.get(processorPriceId)?.[field] !== undefined;
        if (price !== undefined || !isOwn)
          prices.set(processorPriceId, { ...prices.get(processorPriceId), [field]: value });
      }
    }
  }
  const settings = { products, prices };
  for (const [productId, change] of missingSettings(settings, account).products) {
    const [first] = byProduct.get(productId) ?? [];
    const used = Object.keys(first?.product.metadata ?? {}).length;
    const needed = keysOf(change, first?.product.groupName ?? null);
    if (needed > 0 && used + needed > metadataKeysMax)
      mistakes.push(
        `${productId}: the product has ${used} metadata keys, and its features and group need up to ${needed} more. The ` +
          `limit of the processor is ${metadataKeysMax}.`,
      );
  }
  if (mistakes.length > 0) throw new PlanEntryError(mistakes);
  return settings;
}

/**
 * How many metadata keys of Till a change needs at most. Features that do not change are not counted: they are stored
 * already, and how many keys they take is not known here.
 */
function keysOf({ group, features }: ProductSettings, currentGroup: string | null): number {
  if (group === undefined && features === undefined) return 0;
  const ofFeatures = Math.ceil(Object.keys(features ?? {}).length / featuresPerKey);
  return ofFeatures + ((group === undefined ? currentGroup : group) === null ? 0 : 1);
}

/** Why the prices of an entry cannot be plans. */
function refuse(sold: readonly PlanFacts[]): string | undefined {
  const [first] = sold;
  if (first === undefined) return 'the account has no price and no product with a price that has this id.';
  if (sold.some(canBePlan)) return undefined;
  const { obstacle } = first.price;
  return obstacle === undefined ? 'the product is deleted, or has no name.' : priceObstacles[obstacle];
}

/** Whether an import adopts the price as a plan. */
export function canBePlan({ product, price }: PlanFacts): boolean {
  return price.obstacle === undefined && product.deleted !== true && product.name !== null;
}

/** The plan after the settings. */
export function withSettings({ product, price }: PlanFacts, { products, prices }: PlanSettings): PlanFacts {
  const { name, group, features } = products.get(product.processorProductId) ?? {};
  return {
    product: {
      ...product,
      name: name ?? product.name,
      groupName: group === undefined ? product.groupName : group,
      features: features ?? product.features,
    },
    price: { ...price, ...prices.get(price.processorPriceId) },
  };
}

/** What is left to write at the processor, by product and by price. */
export function missingSettings(settings: PlanSettings, account: readonly PlanFacts[]): PlanSettings {
  const products = new Map<string, ProductSettings>();
  const prices = new Map<string, PriceSettings>();
  for (const facts of account) {
    const { processorProductId } = facts.product;
    const { processorPriceId } = facts.price;
    const after = withSettings(facts, settings);
    const wanted = settings.products.get(processorProductId);
    const [before, now] = [shown(facts), shown(after)];
    const changed = productFields.filter((field) => !isDeepStrictEqual(before[field], now[field]));
    if (wanted !== undefined && changed.length > 0)
      products.set(processorProductId, Object.fromEntries(changed.map((field) => [field, wanted[field]])));
    const ofPrice = settings.prices.get(processorPriceId) ?? {};
    const current = shownOfPrice(facts);
    const differing = priceFields.filter(
      (field) => ofPrice[field] !== undefined && ofPrice[field] !== current[field],
    );
    if (differing.length > 0)
      prices.set(processorPriceId, Object.fromEntries(differing.map((field) => [field, ofPrice[field]])));
  }
  return { products, prices };
}

function shown({ product: { name, groupName: group, features } }: PlanFacts) {
  return { name, group, features };
}

function shownOfPrice({ price: { addOn, repeatable } }: PlanFacts) {
  return { addOn: addOn ?? false, repeatable: repeatable ?? false };
}

/**
 * The entries of all prices that can be plans, for an operator to complete. Where the product has no features or group
 * of Till, they come from its metadata `features` and `group`.
 */
export function templateOf(account: readonly PlanFacts[]): Readonly<Record<string, PlanEntry>> {
  const entries = account.filter(canBePlan).map(({ product, price }): [string, PlanEntry] => {
    const { addOn, repeatable } = shownOfPrice({ product, price });
    const metadata = product.metadata ?? {};
    const named = metadata['group']?.trim();
    const group = product.groupName ?? (isGroupName(named) ? named : null);
    const hasFeatures = Object.keys(product.features).length > 0;
    return [
      price.processorPriceId,
      {
        ...(isPlanName(product.name) ? { name: product.name } : {}),
        // An add-on is in no group, even if its product has one.
        ...(addOn ? {} : { group, repeatable }),
        features: hasFeatures ? product.features : parseFeatures(metadata['features']),
        addOn,
      },
    ];
  });
  return Object.fromEntries(entries);
}

/** Features that other tools keep as text: a JSON object, a JSON list of names, or names with commas between them. */
export function parseFeatures(text = ''): PlanFeatures {
  const value = parseLoosely(text);
  const entries = Array.isArray(value) ? value.map((name) => [name, true]) : Object.entries(Object(value));
  const valid = entries.filter(([key, one]) => typeof key === 'string' && isFeature(key, one));
  return valid.length === 0 ? noFeatures : Object.fromEntries(valid.slice(0, featuresMax));
}

function parseLoosely(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object') return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
