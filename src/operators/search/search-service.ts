import type { Customer } from '#core/model/customer.ts';
import type { Plan } from '#core/model/plan.ts';
import type { Database, Queryable } from '#core/platform/postgres.ts';
import { type Match, rank } from '#engine/search/search.ts';
import type { SearchSource } from '#engine/search/search-source.ts';

interface SearchParts {
  readonly database: Database;
  /** Where everyone may search. */
  readonly sources: readonly SearchSource[];
  /** Webhook events, for callers that may see them. */
  readonly ofOperators: SearchSource;
  /** The objects whose names are the labels of others. */
  readonly named: {
    readonly customers: { findLive(db: Queryable, ids: readonly string[]): Promise<readonly Customer[]> };
    readonly plans: { find(db: Queryable, ids: readonly string[]): Promise<readonly Plan[]> };
  };
}

interface SearchOptions {
  readonly withWebhookEvents: boolean;
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
  search(text: string, options: SearchOptions): Promise<readonly Match[]> {
    return this.#parts.database.read((db) => this.searchIn(db, text, options), { onOneConnection: true });
  }

  /**
   * Every statement of a search. The objects of a customer are labelled with the customer's email, and subscriptions
   * with the name of their plan.
   */
  async searchIn(
    db: Queryable,
    text: string,
    { withWebhookEvents }: SearchOptions,
  ): Promise<readonly Match[]> {
    const { sources, ofOperators, named } = this.#parts;
    const asked = withWebhookEvents ? [...sources, ofOperators] : sources;
    const found = await Promise.all(asked.map((source) => source({ db, text })));
    const matches = rank(found.flat());
    const [customers, plans] = await Promise.all([
      named.customers.findLive(db, idsOf(matches.map(({ customerId }) => customerId))),
      named.plans.find(db, idsOf(matches.map(({ planId }) => planId))),
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
}

function idsOf(ids: readonly (string | null)[]): readonly string[] {
  return [...new Set(ids.filter((id) => id !== null))];
}
