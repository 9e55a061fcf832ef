import type { Plan } from '#core/model/plan.ts';

/** How many customers a list of the report names. A person reads it, and in a dry run each customer costs a call. */
export const listedMax = 1_000;

/** A plan as the report needs it. */
export type CensusPlan = Pick<
  Plan,
  'processorPriceId' | 'processorProductId' | 'name' | 'groupName' | 'addOn' | 'features'
>;

/** A subscription that has not ended. */
export interface CensusSubscription {
  readonly processorCustomerId: string;
  /** It is paid for, or in its trial. */
  readonly isPaying: boolean;
  /** It gives access, or may give it again. */
  readonly isLive: boolean;
  readonly isPastDue: boolean;
  /** Why the subscription does not entitle its customer. Null if it does. */
  readonly obstacle: string | null;
  /** Why its customer did not get its external id. Null if it did, or needs none. */
  readonly externalIdObstacle: string | null;
  readonly plans: readonly CensusPlan[];
}

/** A summary of a customer's subscriptions, shared by all customers with the same one. */
interface Note {
  readonly isPaying: boolean;
  readonly isEntitled: boolean;
  readonly isPastDue: boolean;
  readonly hasFeatures: boolean;
  /** The customer pays, and cannot be found by its external id. */
  readonly isHidden: boolean;
  readonly liveCount: number;
  /** The products of the plans that are not add-ons, sorted. */
  readonly products: readonly string[];
}

const noSubscriptions: Note = {
  isPaying: false,
  isEntitled: false,
  isPastDue: false,
  hasFeatures: false,
  isHidden: false,
  liveCount: 0,
  products: [],
};

/** What the customers of an account have, in numbers. */
interface CensusResult {
  readonly payingCount: number;
  readonly entitledCount: number;
  /** How many of the entitled customers have no feature. */
  readonly featurelessCount: number;
  /** Customers that do not pay, and have a subscription that is past due. */
  readonly pastDueCount: number;
  /** Some of the customers that pay and are not entitled, with the reasons. */
  readonly exceptions: ReadonlyMap<string, string>;
  /** Some of the customers that pay and did not get their external ids, with the reasons. */
  readonly hidden: ReadonlyMap<string, string>;
  readonly hiddenCount: number;
  /** Some of the customers with several live subscriptions, with their number. */
  readonly several: ReadonlyMap<string, number>;
  readonly severalCount: number;
  /** The features of plans that no customer has. */
  readonly unusedFeatures: readonly string[];
  /** Products with several prices and no group. */
  readonly productsWithPrices: readonly CensusProduct[];
  /** Products without a group, of which no customer has two. */
  readonly disjointProducts: readonly CensusProduct[];
}

export interface CensusProduct {
  readonly processorProductId: string;
  readonly name: string;
  /** The number of its prices, without those of add-ons. */
  readonly priceCount: number;
}

/**
 * Counts customers by their subscriptions. A customer takes about 100 bytes: its id, and a note that it shares with all
 * customers whose subscriptions are alike. Lists of customers have a limit.
 */
export class Census {
  readonly #notes = new Map<string, Note>();
  readonly #sharedNotes = new Map<string, Note>();
  readonly #obstacles = new Map<string, string>();
  readonly #hidden = new Map<string, string>();
  readonly #features = new Set<string>();

  add(subscription: CensusSubscription): void {
    const { processorCustomerId: key, isPaying, isLive, isPastDue, obstacle, plans } = subscription;
    const { externalIdObstacle } = subscription;
    const isHidden = isPaying && externalIdObstacle !== null;
    const before = this.#notes.get(key) ?? noSubscriptions;
    const isEntitled = isPaying && obstacle === null;
    const features = isEntitled ? plans.flatMap((plan) => featuresIn(plan)) : [];
    for (const feature of features) this.#features.add(feature);
    const sold = isLive ? plans.filter(({ addOn }) => !addOn) : [];
    const products = sold.map(({ processorProductId }) => processorProductId);
    const after = {
      isPaying: before.isPaying || isPaying,
      isEntitled: before.isEntitled || isEntitled,
      isPastDue: before.isPastDue || isPastDue,
      hasFeatures: before.hasFeatures || features.length > 0,
      isHidden: before.isHidden || isHidden,
      liveCount: before.liveCount + Number(isLive),
      products: [...new Set([...before.products, ...products])].sort(),
    };
    this.#notes.set(key, this.#share(after));
    if (isHidden && this.#hidden.size < listedMax) this.#hidden.set(key, externalIdObstacle);
    const isException = after.isPaying && !after.isEntitled;
    if (!isException) this.#obstacles.delete(key);
    else if (obstacle !== null && isPaying && this.#obstacles.size < listedMax)
      this.#obstacles.set(key, obstacle);
  }

  #share(note: Note): Note {
    const key = JSON.stringify(note);
    const shared = this.#sharedNotes.get(key) ?? note;
    this.#sharedNotes.set(key, shared);
    return shared;
  }

  /** `plans` are all plans of the account. */
  result(plans: readonly CensusPlan[]): CensusResult {
    const several = new Map<string, number>();
    const counts = {
      ...{ payingCount: 0, entitledCount: 0, featurelessCount: 0, pastDueCount: 0 },
      ...{ severalCount: 0, hiddenCount: 0 },
    };
    const customersOf = new Map<string, number>();
    for (const [key, note] of this.#notes) {
      counts.payingCount += Number(note.isPaying);
      counts.entitledCount += Number(note.isEntitled);
      counts.featurelessCount += Number(note.isEntitled && !note.hasFeatures);
      counts.pastDueCount += Number(note.isPastDue && !note.isPaying);
      counts.severalCount += Number(note.liveCount > 1);
      counts.hiddenCount += Number(note.isHidden);
      if (note.liveCount > 1 && several.size < listedMax) several.set(key, note.liveCount);
      for (const product of note.products) customersOf.set(product, (customersOf.get(product) ?? 0) + 1);
    }
    const unused = new Set(plans.flatMap(({ features }) => Object.keys(features))).difference(this.#features);
    const ungrouped = productsOf(plans).filter(({ groupName }) => groupName === null);
    return {
      ...counts,
      exceptions: this.#obstacles,
      hidden: this.#hidden,
      several,
      unusedFeatures: [...unused].sort(),
      productsWithPrices: ungrouped.filter(({ priceCount }) => priceCount > 1).map(shownProduct),
      disjointProducts: this.#disjoint(ungrouped, customersOf).map(shownProduct),
    };
  }

  /**
   * Products of which no customer has two, those with most customers first. They may be alternatives. Empty if there
   * are fewer than two.
   */
  #disjoint(
    products: readonly UngroupedProduct[],
    customersOf: ReadonlyMap<string, number>,
  ): readonly UngroupedProduct[] {
    const together = new Set(
      [...this.#sharedNotes.values()].flatMap(({ products: owned }) =>
        owned.flatMap((one) => owned.map((other) => `${one} ${other}`)),
      ),
    );
    const numberOf = ({ processorProductId }: UngroupedProduct) => customersOf.get(processorProductId) ?? 0;
    const chosen: UngroupedProduct[] = [];
    const used = products.filter((product) => numberOf(product) > 0);
    for (const product of used.toSorted((a, b) => numberOf(b) - numberOf(a) || byId(a, b))) {
      const isWith = ({ processorProductId: id }: UngroupedProduct) =>
        together.has(`${id} ${product.processorProductId}`);
      if (!chosen.some(isWith)) chosen.push(product);
    }
    return chosen.length > 1 ? chosen : [];
  }
}

interface UngroupedProduct extends CensusProduct {
  readonly groupName: string | null;
}

/** The order of the report does not depend on the order of the plans. */
function byId(a: CensusProduct, b: CensusProduct): number {
  return a.processorProductId < b.processorProductId ? -1 : 1;
}

/** The products of plans that are sold alone. */
function productsOf(plans: readonly CensusPlan[]): readonly UngroupedProduct[] {
  const sold = plans.filter(({ addOn }) => !addOn);
  return [...Map.groupBy(sold, ({ processorProductId }) => processorProductId)]
    .flatMap(([id, ofProduct]) =>
      ofProduct.slice(0, 1).map(({ name, groupName }) => ({
        ...{ processorProductId: id, name, groupName },
        priceCount: ofProduct.length,
      })),
    )
    .toSorted(byId);
}

function shownProduct({ processorProductId, name, priceCount }: CensusProduct): CensusProduct {
  return { processorProductId, name, priceCount };
}

/** A feature that is false, zero or empty is one that its subscribers do not have. */
function featuresIn({ features }: CensusPlan): readonly string[] {
  return Object.entries(features).flatMap(([name, value]) => (value ? [name] : []));
}
