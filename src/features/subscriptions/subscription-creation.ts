import { hasEnded, type Subscription } from '#core/model/subscription.ts';
import type { PlanQuantity } from '#core/model/subscription-items.ts';
import type { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import type { CheckedOperation, CheckedReservingOperation } from '#engine/idempotency/operation.ts';
import type { MirrorContext } from '#engine/mirrors/mirror.ts';
import { applyResponse, correct } from '#engine/mirrors/refresh.ts';
import { explainMethodRefusal } from '#processor/explain-method-refusal.ts';
import { objectMissing } from '#processor/port/attempt.ts';
import type { NewSubscription, SubscriptionWithSecrets } from '#processor/port/processor.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import type { InvoiceMirror } from '../invoices/invoice-mirror.ts';
import type { PlanService } from '../plans/plan-service.ts';
import { requireSoldPlans } from './add-ons.ts';
import { explainCodeRefusal, findPromotionCode } from './promotion-code.ts';
import { correctHolder, type Grouping, type OpenCheckouts, reserveGroup } from './reserve-group.ts';
import type { SubscriptionMirror } from './subscription-mirror.ts';
import type { SubscriptionTurns } from './turns/subscription-turns.ts';
import { hadTrial, reserveTrial } from './used-trials.ts';

export interface NewSubscriptionRequest extends Omit<NewSubscription, keyof PreparedSubscription> {
  readonly customerId: string;
  /** 0: no trial. */
  readonly trialPeriodDays: number;
  /** No trial for a customer who already had one. */
  readonly trialOnce?: true;
  readonly planId: string;
  /** In the order of `planId`. */
  readonly addOns?: readonly PlanQuantity[];
  /** The promotion code that the customer entered. */
  readonly promotionCode?: string;
}

export interface CreatedSubscription {
  readonly subscription: Subscription;
  /**
   * The client secret of the first invoice. Passed on to the caller and never stored. Null if there is nothing to
   * confirm.
   */
  readonly clientSecret: string | null;
  /** The client secret to save a card in a trial. Null if no card is to be saved. */
  readonly setupClientSecret: string | null;
}

/** The values that the call to the processor needs. */
type PreparedSubscription = Pick<
  NewSubscription,
  'processorCustomerId' | 'processorPriceId' | 'processorPromotionCodeId' | 'addOns' | 'trialPeriodDays'
>;

export interface SubscriptionContext extends MirrorContext, Grouping {
  readonly idempotency: IdempotencyService;
  readonly plans: PlanService;
  readonly mirror: SubscriptionMirror;
  readonly customers: CustomerService;
  readonly turns: SubscriptionTurns;
  readonly openCheckouts: OpenCheckouts;
  readonly invoices: InvoiceMirror;
}

export type SubscriptionCreation = CheckedOperation<
  NewSubscriptionRequest,
  PreparedSubscription,
  SubscriptionWithSecrets,
  CreatedSubscription
>;

/** The steps of creating a subscription. */
export function subscriptionCreation(context: SubscriptionContext): SubscriptionCreation {
  const { database, store, groups, mirror, customers, plans, processor } = context;
  return {
    name: 'subscriptions.create',
    parentIdOf: ({ customerId }) => customerId,
    prepare: (request, id) => prepareSubscription(context, request, id),
    call: async (request, prepared, write) => {
      const { customerId, planId, addOns = [], promotionCode, trialOnce: _, ...values } = request;
      try {
        return await processor.subscriptions.create({ ...write, ...values, ...prepared });
      } catch (error) {
        const planIds = [planId, ...addOns.map((addOn) => addOn.planId)];
        const known = await plans.explainRefusal(await customers.explainRefusal(error, customerId), planIds);
        const method = { id: values.paymentMethodId, processorCustomerId: prepared.processorCustomerId };
        const explained = explainCodeRefusal(known, promotionCode);
        throw await explainMethodRefusal(processor.paymentMethods, explained, method);
      }
    },
    record: async (tx, id, { subscription, ...secrets }) => {
      // If a webhook created the row, the row and the response can each be newer.
      const { unsettled } = await mirror.apply(tx, [subscription], 'events');
      await groups.endReservation(tx, id);
      const result = { subscription: await store.read(tx, id), ...secrets };
      return { result, needsRefresh: unsettled.length > 0 };
    },
    refresh: async ({ subscription, ...secrets }) => {
      await correct(mirror, subscription.processorSubscriptionId);
      return { subscription: await store.read(database, subscription.id), ...secrets };
    },
    idOf: ({ subscription }) => subscription.localId,
    find: (claim) => customers.findCreated(claim, (lookUp) => processor.subscriptions.find(lookUp)),
    finishReservation: (claimId) => correctHolder(context, claimId),
    release: (tx, { resourceId }) => groups.endReservation(tx, resourceId),
    replay: async (id) => {
      const subscription = await store.read(database, id);
      if (hasEnded(subscription.status)) return { subscription, clientSecret: null, setupClientSecret: null };
      const current = await processor.subscriptions.read(subscription.processorSubscriptionId);
      if (current === null) throw objectMissing('subscription');
      await applyResponse(database, mirror, current.subscription, subscription);
      const { clientSecret, setupClientSecret } = current;
      return { subscription: await store.read(database, id), clientSecret, setupClientSecret };
    },
  };
}

async function prepareSubscription(
  context: SubscriptionContext,
  request: NewSubscriptionRequest,
  id: string,
): Promise<PreparedSubscription> {
  const { customers, plans } = context;
  const { customerId, planId, addOns, promotionCode, trialPeriodDays } = request;
  const [customer, [main, ...others]] = await Promise.all([
    customers.read(customerId),
    requireSoldPlans(plans, { planId, addOns }),
  ]);
  const { processorCustomerId } = customer;
  const isUsed =
    wantsOneTrial(request) &&
    (await context.database.transaction((tx) => hadTrial(tx, context, main.plan, customerId, id)));
  const items = others.map(({ plan, quantity }) => ({ processorPriceId: plan.processorPriceId, quantity }));
  const prepared = {
    ...{ processorCustomerId, processorPriceId: main.plan.processorPriceId },
    trialPeriodDays: isUsed ? 0 : trialPeriodDays,
    ...(items.length === 0 ? {} : { addOns: items }),
  };
  if (promotionCode === undefined) return prepared;
  return {
    ...prepared,
    processorPromotionCodeId: await findPromotionCode(context, customer, promotionCode),
  };
}

type ReservingSubscriptionCreation = CheckedReservingOperation<
  NewSubscriptionRequest,
  PreparedSubscription,
  SubscriptionWithSecrets,
  CreatedSubscription
>;

/** Whether the trial depends on the earlier trials of the customer. */
export function wantsOneTrial({ trialOnce, trialPeriodDays }: NewSubscriptionRequest): boolean {
  return trialOnce === true && trialPeriodDays > 0;
}

/**
 * The steps of creating a subscription to a plan of a group, or one with the customer's only trial: the group or the
 * trial is reserved before the call. A group also decides about the trial.
 */
export function reservingSubscriptionCreation(context: SubscriptionContext): ReservingSubscriptionCreation {
  return {
    ...subscriptionCreation(context),
    reserve: async (tx, id, request, admission) => {
      const { customerId, planId } = request;
      const joining = { customerId, planId, subscriptionId: id, claimId: id };
      const holder = await reserveGroup(tx, context, { ...joining, admission });
      if (holder === null && wantsOneTrial(request)) await reserveTrial(tx, context, joining);
    },
  };
}
