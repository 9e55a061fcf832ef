import type { Created } from '../idempotency/creation.ts';
import type { IdempotencyService } from '../idempotency/idempotency-service.ts';
import type { Page, PageRequest } from '../mirrors/list-page.ts';
import { applyResponse, correct } from '../mirrors/refresh.ts';
import { isUuid } from '../platform/id.ts';
import { SharedReads } from '../platform/shared-statement.ts';
import { notReached } from '../processor/refused-write.ts';
import { foundSubscription, hasEnded, type Subscription } from './subscription.ts';
import {
  type CreatedSubscription,
  type NewSubscriptionRequest,
  SubscriptionCreation,
  type SubscriptionParts,
} from './subscription-creation.ts';

/** Reads at a time when a customer is deleted: it takes seconds, and leaves capacity for other requests. */
const readsAtOnce = 5;

interface SubscriptionServiceParts extends SubscriptionParts {
  readonly idempotency: IdempotencyService;
}

export class SubscriptionService {
  /** The sweeper uses it as well. */
  readonly creation: SubscriptionCreation;
  readonly #parts: SubscriptionServiceParts;
  readonly #reads: SharedReads<Subscription>;

  constructor(parts: SubscriptionServiceParts) {
    this.#parts = parts;
    this.creation = new SubscriptionCreation(parts);
    this.#reads = new SharedReads((ids) => parts.store.find(parts.database, ids));
  }

  create(request: NewSubscriptionRequest, key: string | undefined): Promise<Created<CreatedSubscription>> {
    return this.#parts.idempotency.create(this.creation, request, key);
  }

  async read(id: string): Promise<Subscription> {
    return foundSubscription(isUuid(id) ? await this.#reads.read(id) : undefined);
  }

  list(request: PageRequest, customerId: string | undefined): Promise<Page<Subscription>> {
    return this.#parts.store.list(this.#parts.database, request, customerId);
  }

  /** Cancels immediately. A subscription that has ended needs no call to the processor. */
  async cancel(id: string): Promise<Subscription> {
    const { database, mirror, processor } = this.#parts;
    const subscription = await this.read(id);
    if (hasEnded(subscription.status)) return subscription;
    const { processorSubscriptionId } = subscription;
    const attempt = await processor.subscriptions.cancel(processorSubscriptionId);
    if (attempt.outcome === 'done') await applyResponse(database, mirror, attempt.value, subscription);
    // A refusal may mean that the subscription has ended and the event has not arrived.
    else await correct(mirror, processorSubscriptionId);
    const corrected = await this.read(id);
    if (!hasEnded(corrected.status)) throw notReached(attempt, 'subscription', corrected.status);
    return corrected;
  }

  /** Brings all subscriptions of a customer that have not ended up to date with the processor. */
  async correctOfCustomer(customerId: string): Promise<void> {
    const { store, mirror, database } = this.#parts;
    const open = await store.listOpenOfCustomer(database, customerId);
    for (let start = 0; start < open.length; start += readsAtOnce) {
      const some = open.slice(start, start + readsAtOnce);
      await Promise.all(some.map(({ processorSubscriptionId }) => correct(mirror, processorSubscriptionId)));
    }
  }
}
