import type { Database } from '../platform/postgres.ts';
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
    const [disputes, pastDue, operations] = await Promise.all([
      store.disputes(database),
      store.pastDue(database),
      mayOperate ? this.#readOperations() : null,
    ]);
    return { disputes, pastDue, operations };
  }

  async #readOperations(): Promise<NonNullable<Attention['operations']>> {
    const { database, store } = this.#parts;
    const [endpoints, webhookEvents, claims] = await Promise.all([
      store.endpoints(database),
      store.webhookEvents(database),
      store.claims(database),
    ]);
    return { endpoints, webhookEvents, claims };
  }
}
