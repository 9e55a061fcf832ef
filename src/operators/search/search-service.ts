import type { Database, Queryable } from '#core/platform/postgres.ts';
import { type Match, rank } from './search.ts';
import { findMatches, type SearchedStores } from './search-sources.ts';

interface SearchParts {
  readonly database: Database;
  readonly stores: SearchedStores;
}

/** Finds objects by an id, a name, an email, a number, a card or an amount. */
export class SearchService {
  readonly #parts: SearchParts;

  constructor(parts: SearchParts) {
    this.#parts = parts;
  }

  /**
   * `withWebhookEvents`: whether the caller may see them. All statements use one connection: a search must not take
   * many of the pool's.
   */
  search(text: string, options: { readonly withWebhookEvents: boolean }): Promise<readonly Match[]> {
    const { database, stores } = this.#parts;
    return database.read((db) => searchIn(db, stores, text, options), { onOneConnection: true });
  }
}

/**
 * Every statement of a search. The objects of a customer are labelled with the customer's email, and subscriptions with
 * the name of their plan.
 */
export async function searchIn(
  db: Queryable,
  stores: SearchedStores,
  text: string,
  options: { readonly withWebhookEvents: boolean },
): Promise<readonly Match[]> {
  const matches = rank(await findMatches(db, stores, text, options));
  const [customers, plans] = await Promise.all([
    stores.customers.findLive(db, idsOf(matches.map(({ customerId }) => customerId))),
    stores.plans.find(db, idsOf(matches.map(({ planId }) => planId))),
  ]);
  const owners = new Map(customers.map((customer) => [customer.id, customer]));
  const names = new Map(plans.map(({ id, name }) => [id, name]));
  return matches.map((match) => {
    const { objectType, customerId, planId, label, personalLabel } = match;
    if (objectType === 'customer' || objectType === 'event' || customerId === null) return match;
    const owner = owners.get(customerId);
    const better = names.get(planId ?? '') ?? (owner === undefined ? null : personalLabel);
    return { ...match, label: better ?? label, description: owner?.email ?? null };
  });
}

function idsOf(ids: readonly (string | null)[]): readonly string[] {
  return [...new Set(ids.filter((id) => id !== null))];
}
