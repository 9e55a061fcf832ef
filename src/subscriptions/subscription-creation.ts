import type { CustomerService } from '../customers/customer-service.ts';
import type {
  Admission,
  CheckedOperation,
  CheckedReservingOperation,
  FoundClaim,
  OperationWrite,
  Recorded,
  ReleasedClaim,
} from '../idempotency/operation.ts';
import { applyResponse, correct } from '../mirrors/refresh.ts';
import { hasEnded, type Subscription } from '../model/subscription.ts';
import type { PlanQuantity } from '../model/subscription-items.ts';
import type { PlanService } from '../plans/plan-service.ts';
import type { Database, Transaction } from '../platform/postgres.ts';
import { explainMethodRefusal } from '../processor/explain-method-refusal.ts';
import { objectMissing } from '../processor/port/attempt.ts';
import type { NewSubscription, Processor, SubscriptionWithSecrets } from '../processor/port/processor.ts';
import { type ListedPlan, requireSoldPlans } from './add-ons.ts';
import type { GroupReservationStore } from './group-reservation-store.ts';
import { explainCodeRefusal, findPromotionCode } from './promotion-code.ts';
import { correctHolder, type GroupParts, type OpenCheckouts, reserveGroup } from './reserve-group.ts';
import type { SubscriptionMirror } from './subscription-mirror.ts';
import type { SubscriptionStore } from './subscription-store.ts';
import type { SubscriptionTurns } from './turns/subscription-turns.ts';
import { hadTrial } from './used-trials.ts';

export interface NewSubscriptionRequest extends Omit<NewSubscription, keyof PreparedSubscription> {
  readonly customerId: string;
  /** 0: no trial. */
  readonly trialPeriodDays: number;
  /** No trial for a customer who already had one. */
  readonly trialOnce?: true;
  readonly planId: string;
  /** In the order of `planId`. */
  readonly addOns?: readonly PlanQuantity[];
  /** What the customer entered. */
  readonly promotionCode?: string;
}

export interface CreatedSubscription {
  readonly subscription: Subscription;
  /**
   * The client secret of the first invoice. Passed on to the caller and never stored. Null if there is nothing to
   * confirm.
   */
  readonly clientSecret: string | null;
  /** The client secret to save a card in a trial. Null if there is none to save. */
  readonly setupClientSecret: string | null;
}

/** What the call to the processor needs. */
type PreparedSubscription = Pick<
  NewSubscription,
  'processorCustomerId' | 'processorPriceId' | 'processorPromotionCodeId' | 'addOns' | 'trialPeriodDays'
>;

export interface SubscriptionParts {
  readonly database: Database;
  readonly store: SubscriptionStore;
  readonly groups: GroupReservationStore;
  readonly mirror: SubscriptionMirror;
  readonly customers: CustomerService;
  readonly plans: PlanService;
  readonly processor: Processor;
  readonly turns: SubscriptionTurns;
  readonly openCheckouts: OpenCheckouts;
}

/** The steps of creating a subscription. */
export class SubscriptionCreation
  implements
    CheckedOperation<
      NewSubscriptionRequest,
      PreparedSubscription,
      SubscriptionWithSecrets,
      CreatedSubscription
    >
{
  readonly name = 'subscriptions.create';
  readonly #parts: SubscriptionParts;

  constructor(parts: SubscriptionParts) {
    this.#parts = parts;
  }

  parentIdOf({ customerId }: NewSubscriptionRequest): string {
    return customerId;
  }

  async prepare(
    { customerId, planId, addOns, promotionCode, trialPeriodDays, trialOnce }: NewSubscriptionRequest,
    id: string,
  ): Promise<PreparedSubscription> {
    const { customers, plans } = this.#parts;
    const [customer, [main, ...others]] = await Promise.all([
      customers.read(customerId),
      requireSoldPlans(plans, { planId, addOns }),
    ]);
    const { processorCustomerId } = customer;
    const hasTrial =
      trialPeriodDays > 0 && !(trialOnce && (await hadTrial(this.#parts, main.plan, customerId, id)));
    const prepared = {
      ...{ processorCustomerId, processorPriceId: main.plan.processorPriceId },
      trialPeriodDays: hasTrial ? trialPeriodDays : 0,
      ...(others.length === 0 ? {} : { addOns: others.map(itemOf) }),
    };
    if (promotionCode === undefined) return prepared;
    return {
      ...prepared,
      processorPromotionCodeId: await findPromotionCode(this.#parts, customer, promotionCode),
    };
  }

  async call(
    { customerId, planId, addOns = [], promotionCode, trialOnce: _, ...values }: NewSubscriptionRequest,
    prepared: PreparedSubscription,
    write: OperationWrite,
  ): Promise<SubscriptionWithSecrets> {
    const { customers, plans, processor } = this.#parts;
    try {
      return await processor.subscriptions.create({ ...write, ...values, ...prepared });
    } catch (error) {
      const planIds = [planId, ...addOns.map((addOn) => addOn.planId)];
      const known = await plans.explainRefusal(await customers.explainRefusal(error, customerId), planIds);
      const method = { id: values.paymentMethodId, processorCustomerId: prepared.processorCustomerId };
      const explained = explainCodeRefusal(known, promotionCode);
      throw await explainMethodRefusal(processor.paymentMethods, explained, method);
    }
  }

  async record(
    tx: Transaction,
    id: string,
    { subscription, ...secrets }: SubscriptionWithSecrets,
  ): Promise<Recorded<CreatedSubscription>> {
    const { store, mirror, groups } = this.#parts;
    // If a webhook created the row, the row and the response can each be newer.
    const { unsettled } = await mirror.apply(tx, [subscription], 'events');
    await groups.endReservation(tx, id);
    const result = { subscription: await store.read(tx, id), ...secrets };
    return { result, needsRefresh: unsettled.length > 0 };
  }

  async refresh({ subscription, ...secrets }: CreatedSubscription): Promise<CreatedSubscription> {
    const { store, mirror, database } = this.#parts;
    await correct(mirror, subscription.processorSubscriptionId);
    return { subscription: await store.read(database, subscription.id), ...secrets };
  }

  idOf({ subscription }: SubscriptionWithSecrets): string | null {
    return subscription.localId;
  }

  find(claim: FoundClaim): Promise<SubscriptionWithSecrets | null> {
    const { customers, processor } = this.#parts;
    return customers.findCreated(claim, (lookUp) => processor.subscriptions.find(lookUp));
  }

  finishReservation(claimId: string): Promise<void> {
    return correctHolder(this.#parts, claimId);
  }

  async release(tx: Transaction, { resourceId }: ReleasedClaim): Promise<void> {
    await this.#parts.groups.endReservation(tx, resourceId);
  }

  async replay(id: string): Promise<CreatedSubscription> {
    const { database, store, mirror, processor } = this.#parts;
    const subscription = await store.read(database, id);
    if (hasEnded(subscription.status)) return { subscription, clientSecret: null, setupClientSecret: null };
    const current = await processor.subscriptions.read(subscription.processorSubscriptionId);
    if (current === null) throw objectMissing('subscription');
    await applyResponse(database, mirror, current.subscription, subscription);
    const { clientSecret, setupClientSecret } = current;
    return { subscription: await store.read(database, id), clientSecret, setupClientSecret };
  }
}

function itemOf({
  plan: { processorPriceId },
  quantity,
}: ListedPlan): NonNullable<NewSubscription['addOns']>[number] {
  return { processorPriceId, quantity };
}

/** The steps of creating a subscription to a plan of a group: the group is reserved before the call. */
export class GroupedSubscriptionCreation
  extends SubscriptionCreation
  implements
    CheckedReservingOperation<
      NewSubscriptionRequest,
      PreparedSubscription,
      SubscriptionWithSecrets,
      CreatedSubscription
    >
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
    admission: Admission,
  ): Promise<undefined> {
    const joining = { customerId, planId, subscriptionId: id, claimId: id, admission };
    await reserveGroup(tx, this.#groupParts, joining);
  }
}
