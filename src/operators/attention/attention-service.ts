import type { Database } from '#core/platform/postgres.ts';
import type { AttentionStore } from './attention-store.ts';

interface AttentionParts {
  readonly database: Database;
  readonly store: AttentionStore;
}

/** Finds what people should look at now. */
export class AttentionService {
  readonly #parts: AttentionParts;

  constructor(parts: AttentionParts) {
    this.#parts = parts;
  }

  /** The last three are null for a caller that may not operate the service. */
  read({ mayOperate }: { readonly mayOperate: boolean }) {
    const { database, store } = this.#parts;
    // On one connection: ten statements at once would take the whole pool from other requests.
    return database.transaction(
      async (tx) => {
        const [disputes, pastDue, endpoints, webhookEvents, claims] = await Promise.all([
          store.disputes(tx),
          store.pastDue(tx),
          mayOperate ? store.endpoints(tx) : null,
          mayOperate ? store.webhookEvents(tx) : null,
          mayOperate ? store.claims(tx) : null,
        ]);
        return { disputes, pastDue, endpoints, webhookEvents, claims };
      },
      { startsWithRead: true },
    );
  }
}
