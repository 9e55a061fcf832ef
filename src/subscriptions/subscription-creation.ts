import type { CustomerService } from '../customers/customer-service.ts';
import type {
  CheckedOperation,
  CheckedReservingOperation,
  FoundClaim,
  OperationWrite,
  Recorded,
} from '../idempotency/operation.ts';
import type { Metadata } from '../mirrors/metadata.ts';
import { applyResponse, correct } from '../mirrors/refresh.ts';
import type { PlanService } from '../plans/plan-service.ts';
import type { Database, Transaction } from '../platform/postgres.ts';
import type { Processor, SubscriptionWithSecret } from '../processor/processor.ts';
import { objectMissing } from '../processor/refused-write.ts';
import type { GroupReservationStore } from './group-reservation-store.ts';
import { type GroupParts, reserveGroup } from './reserve-group.ts';
import { foundSubscription, hasEnded, type Subscription } from './subscription.ts';
import type { SubscriptionMirror } from './subscription-mirror.ts';
import type { SubscriptionStore } from './subscription-store.ts';

export interface NewSubscriptionRequest {
  readonly customerId: string;
  readonly planId: string;
  /** 0 for no trial. */
  readonly trialPeriodDays: number;
  readonly metadata?: Metadata;
}

export interface CreatedSubscription {
  readonly subscription: Subscription;
  /** The first invoice's secret, passed on to the caller and never stored. Null if there is nothing to confirm. */
  readonly clientSecret: string | null;
}

/** What the call to the processor needs. */
interface Prepared {
  readonly processorCustomerId: string;
  readonly processorPriceId: string;
}

export interface SubscriptionParts {
  readonly database: Database;
  readonly store: SubscriptionStore;
  readonly groups: GroupReservationStore;
  readonly mirror: SubscriptionMirror;
  readonly customers: CustomerService;
  readonly plans: PlanService;
  readonly processor: Processor;
}

/** The steps of creating a subscription. */
export class SubscriptionCreation
  implements CheckedOperation<NewSubscriptionRequest, Prepared, SubscriptionWithSecret, CreatedSubscription>
{
  readonly name = 'subscriptions.create';
  readonly #parts: SubscriptionParts;

  constructor(parts: SubscriptionParts) {
    this.#parts = parts;
  }

  parentIdOf({ customerId }: NewSubscriptionRequest): string {
    return customerId;
  }

  async prepare({ customerId, planId }: NewSubscriptionRequest): Promise<Prepared> {
    const { customers, plans } = this.#parts;
    const { processorCustomerId } = await customers.read(customerId);
    const { processorPriceId } = await plans.requireActive(planId);
    return { processorCustomerId, processorPriceId };
  }

  async call(
    { customerId, planId, ...values }: NewSubscriptionRequest,
    prepared: Prepared,
    write: OperationWrite,
  ): Promise<SubscriptionWithSecret> {
    const { customers, plans, processor } = this.#parts;
    try {
      return await processor.subscriptions.create({ ...write, ...prepared, ...values });
    } catch (error) {
      throw await plans.explainRefusal(await customers.explainRefusal(error, customerId), planId);
    }
  }

  async record(
    tx: Transaction,
    id: string,
    { subscription, clientSecret }: SubscriptionWithSecret,
  ): Promise<Recorded<CreatedSubscription>> {
    const { store, mirror, groups } = this.#parts;
    // If a webhook created the row, the row and the response can each be newer.
    const { unsettled } = await mirror.apply(tx, [subscription], 'events');
    await groups.endReservation(tx, id);
    const result = { subscription: foundSubscription((await store.find(tx, [id]))[0]), clientSecret };
    return { result, needsRefresh: unsettled.length > 0 };
  }

  async refresh({ subscription, clientSecret }: CreatedSubscription): Promise<CreatedSubscription> {
    await correct(this.#parts.mirror, subscription.processorSubscriptionId);
    return { subscription: await this.#read(subscription.id), clientSecret };
  }

  find(claim: FoundClaim): Promise<SubscriptionWithSecret | null> {
    const { customers, processor } = this.#parts;
    return customers.findCreated(claim, (lookUp) => processor.subscriptions.find(lookUp));
  }

  async release(tx: Transaction, { resourceId }: FoundClaim): Promise<void> {
    await this.#parts.groups.endReservation(tx, resourceId);
  }

  async replay(id: string): Promise<CreatedSubscription> {
    const { database, mirror, processor } = this.#parts;
    const subscription = await this.#read(id);
    if (hasEnded(subscription.status)) return { subscription, clientSecret: null };
    const present = await processor.subscriptions.read(subscription.processorSubscriptionId);
    if (present === null) throw objectMissing('subscription');
    await applyResponse(database, mirror, present.subscription, subscription);
    return { subscription: await this.#read(id), clientSecret: present.clientSecret };
  }

  async #read(id: string): Promise<Subscription> {
    const { store, database } = this.#parts;
    return foundSubscription((await store.find(database, [id]))[0]);
  }
}

/** The steps of creating a subscription to a plan of a group: the group is reserved before the call. */
export class GroupedSubscriptionCreation
  extends SubscriptionCreation
  implements
    CheckedReservingOperation<NewSubscriptionRequest, Prepared, SubscriptionWithSecret, CreatedSubscription>
{
  readonly #groupParts: GroupParts;

  constructor(parts: SubscriptionParts) {
    super(parts);
    this.#groupParts = parts;
  }

  async reserve(
    tx: Transaction,
    id: string,
    { customerId, planId }: NewSubscriptionRequest,
  ): Promise<undefined> {
    await reserveGroup(tx, this.#groupParts, { customerId, planId, subscriptionId: id, claimId: id });
  }
}
