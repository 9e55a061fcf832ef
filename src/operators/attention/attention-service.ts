import type { Platform } from '#core/platform/platform.ts';
import { AttentionStore } from './attention-store.ts';

/** Finds what people should look at now. */
export class AttentionService {
  readonly #context: Platform;
  readonly #store = new AttentionStore();

  constructor(context: Platform) {
    this.#context = context;
  }

  /** The last three are null for a caller that may not operate the service. */
  read({ mayOperate }: { readonly mayOperate: boolean }) {
    const { database } = this.#context;
    // On one connection: ten statements at once would take the whole pool from other requests.
    return database.transaction(
      async (tx) => {
        const [disputes, pastDue, endpoints, webhookEvents, claims] = await Promise.all([
          this.#store.disputes(tx),
          this.#store.pastDue(tx),
          mayOperate ? this.#store.endpoints(tx) : null,
          mayOperate ? this.#store.webhookEvents(tx) : null,
          mayOperate ? this.#store.claims(tx) : null,
        ]);
        return { disputes, pastDue, endpoints, webhookEvents, claims };
      },
      { startsWithRead: true },
    );
  }
}
