import {
  type CheckedOperation,
  type FoundClaim,
  type OperationWrite,
  parentOf,
  type Recorded,
} from '../idempotency/operation.ts';
import { correct } from '../mirrors/refresh.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import { notReached, objectMissing } from '../processor/refused-write.ts';
import {
  foundSubscription,
  isSubscriptionChangeIgnored,
  type Subscription,
  type SubscriptionChange,
  type SubscriptionFacts,
} from './subscription.ts';
import type { SubscriptionParts } from './subscription-creation.ts';

export interface SubscriptionUpdateRequest {
  readonly subscriptionId: string;
  readonly change: SubscriptionChange;
}

export interface ChangedSubscription {
  readonly subscription: Subscription;
  /** What the change leaves to confirm, passed on to the caller and never stored. Null if there is nothing. */
  readonly clientSecret: string | null;
}

/** The processor's response, and the row before the request. */
interface Made {
  readonly facts: SubscriptionFacts;
  readonly subscription: Subscription;
}

type UpdateParts = Pick<SubscriptionParts, 'database' | 'store' | 'mirror' | 'customers' | 'processor'>;

/** The steps of changing a subscription. */
export class SubscriptionUpdate
  implements CheckedOperation<SubscriptionUpdateRequest, Subscription, Made, ChangedSubscription>
{
  readonly name = 'subscriptions.update';
  readonly isChange = true;
  readonly #parts: UpdateParts;

  constructor(parts: UpdateParts) {
    this.#parts = parts;
  }

  parentIdOf({ subscriptionId }: SubscriptionUpdateRequest): string {
    return subscriptionId;
  }

  async prepare({ subscriptionId, change }: SubscriptionUpdateRequest): Promise<Subscription> {
    const subscription = await this.#find(this.#parts.database, subscriptionId);
    await this.#parts.customers.refuseMetadataChange(subscription, change.metadata ?? {});
    return subscription;
  }

  async call(
    { change }: SubscriptionUpdateRequest,
    subscription: Subscription,
    { idempotencyKey, isRepeated }: OperationWrite,
  ): Promise<Made> {
    const { processor, mirror } = this.#parts;
    const { processorSubscriptionId } = subscription;
    const attempt = await processor.subscriptions.update({
      ...change,
      processorSubscriptionId,
      idempotencyKey,
    });
    if (attempt.outcome !== 'done') {
      await correct(mirror, processorSubscriptionId);
      throw notReached(attempt, 'subscription', 'unchanged');
    }
    if (isRepeated || attempt.value.metadata === null)
      return { facts: await this.#read(subscription), subscription };
    if (isSubscriptionChangeIgnored(subscription, change, attempt.value))
      throw notReached(attempt, 'subscription', 'unchanged');
    return { facts: attempt.value, subscription };
  }

  async record(
    tx: Transaction,
    _id: string,
    { facts, subscription }: Made,
  ): Promise<Recorded<ChangedSubscription>> {
    const { processorSubscriptionId, revision } = subscription;
    const revisions = new Map([[processorSubscriptionId, revision]]);
    const { unsettled } = await this.#parts.mirror.apply(tx, [facts], revisions);
    return {
      result: { subscription: await this.#find(tx, subscription.id), clientSecret: null },
      needsRefresh: unsettled.length > 0,
    };
  }

  async refresh({ subscription, clientSecret }: ChangedSubscription): Promise<ChangedSubscription> {
    const { mirror, database } = this.#parts;
    await correct(mirror, subscription.processorSubscriptionId);
    return { subscription: await this.#find(database, subscription.id), clientSecret };
  }

  /** Nothing at the processor shows whether a change was made. Making it again has the same effect. */
  async find(): Promise<null> {
    return null;
  }

  /** The first request may have died before it could refresh a row that had changed meanwhile. */
  async replay(_id: string, claim: FoundClaim): Promise<ChangedSubscription> {
    const subscription = await this.#find(this.#parts.database, parentOf(claim));
    return this.refresh({ subscription, clientSecret: null });
  }

  async #find(db: Queryable, id: string): Promise<Subscription> {
    return foundSubscription((await this.#parts.store.find(db, [id]))[0]);
  }

  async #read({ processorSubscriptionId }: Subscription): Promise<SubscriptionFacts> {
    const present = await this.#parts.processor.subscriptions.read(processorSubscriptionId);
    if (present === null) throw objectMissing('subscription');
    return present.subscription;
  }
}
