import type { Database, Queryable } from '../platform/postgres.ts';
import type {
  AttentionStore,
  Urgent,
  UrgentClaim,
  UrgentDispute,
  UrgentEndpoint,
  UrgentSubscription,
  UrgentWebhookEvent,
} from './attention-store.ts';

/** What people should look at now. */
export interface Attention {
  readonly disputes: Urgent<UrgentDispute>;
  readonly pastDue: Urgent<UrgentSubscription>;
  readonly operations: {
    readonly endpoints: Urgent<UrgentEndpoint>;
    readonly webhookEvents: Urgent<UrgentWebhookEvent>;
    readonly claims: Urgent<UrgentClaim>;
  } | null;
}

export class AttentionService {
  readonly #parts: { readonly database: Database; readonly store: AttentionStore };

  constructor(parts: { readonly database: Database; readonly store: AttentionStore }) {
    this.#parts = parts;
  }

  /** `operations` is null for a caller that may not operate the service. */
  async read({ mayOperate }: { readonly mayOperate: boolean }): Promise<Attention> {
    const { database, store } = this.#parts;
    // On one connection: ten statements at once would take the whole pool from other requests.
    return database.transaction(
      async (tx) => {
        const [disputes, pastDue, operations] = await Promise.all([
          store.disputes(tx),
          store.pastDue(tx),
          mayOperate ? this.#readOperations(tx) : null,
        ]);
        return { disputes, pastDue, operations };
      },
      { startsWithRead: true },
    );
  }

  async #readOperations(tx: Queryable): Promise<NonNullable<Attention['operations']>> {
    const { store } = this.#parts;
    const [endpoints, webhookEvents, claims] = await Promise.all([
      store.endpoints(tx),
      store.webhookEvents(tx),
      store.claims(tx),
    ]);
    return { endpoints, webhookEvents, claims };
  }
}
