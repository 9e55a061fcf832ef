import { type Checkout, isReusable, requireExpiry } from '#core/model/checkout.ts';
import type { Customer } from '#core/model/customer.ts';
import type { PlanQuantity } from '#core/model/subscription-items.ts';
import type { ProcessorClock } from '#core/platform/clock.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import { hashRequest } from '#engine/idempotency/claim.ts';
import type { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import type {
  Admission,
  CheckedOperation,
  CheckedReservingOperation,
  OperationWrite,
} from '#engine/idempotency/operation.ts';
import type { MirrorContext } from '#engine/mirrors/mirror.ts';
import type {
  CheckoutPage,
  CheckoutWithUrl,
  NewCheckout,
  SavedCard,
  SoldPayment,
  SoldSubscription,
} from '#processor/port/checkout-calls.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import type { PlanService } from '../plans/plan-service.ts';
import { requireSoldPlans } from '../subscriptions/add-ons.ts';
import { explainCodeRefusal, findPromotionCode } from '../subscriptions/promotion-code.ts';
import { type Grouping, groupHeld, reserveGroup } from '../subscriptions/reserve-group.ts';
import type { SubscriptionService } from '../subscriptions/subscription-service.ts';
import { hadTrial } from '../subscriptions/used-trials.ts';
import { type CheckoutMirror, resultIdOf } from './checkout-mirror.ts';
import type { CheckoutStore } from './checkout-store.ts';

/** The subscription that a request sells. */
interface WantedSubscription
  extends Omit<SoldSubscription, 'items' | 'processorPromotionCodeId' | 'trialPeriodDays'> {
  readonly planId: string;
  readonly quantity: number;
  /** In the order of `planId`. */
  readonly addOns: readonly PlanQuantity[];
  readonly trialPeriodDays: number;
  /** No trial for a customer who already had one. */
  readonly trialOnce?: true;
  readonly promotionCode?: string;
}

/** The customer of a new checkout: one that exists, or one to find by its external id, or else to create. */
export type Buyer =
  | { readonly customerId: string }
  | {
      readonly customer: {
        readonly externalId: string;
        readonly email: string;
        readonly name: string | null;
      };
    };

export interface NewCheckoutRequest extends Pick<NewCheckout, 'metadata'> {
  readonly customerId: string;
  /** The customer as the caller named it. */
  readonly buyer: Buyer;
  readonly sold: WantedSubscription | SoldPayment | SavedCard;
  /** The id of the checkout replaces `{CHECKOUT_ID}` in a URL. */
  readonly page: CheckoutPage;
}

export interface OpenedCheckout {
  readonly checkout: Checkout;
  /** Passed on to the caller and never stored. Null unless the checkout is open. */
  readonly url: string | null;
  /** An open checkout with the same terms existed before, so nothing was created. */
  readonly isExisting?: true;
}

interface Existing {
  readonly existing: Checkout;
  readonly url: string;
}

/** The values that the call to the processor needs. */
type NewPage = Pick<NewCheckout, 'processorCustomerId' | 'sold'>;

type PreparedCheckout = NewPage | Existing;

type CheckoutEffect = CheckoutWithUrl | Existing;

export interface CheckoutContext extends MirrorContext {
  readonly idempotency: IdempotencyService;
  readonly returnUrlOrigins: readonly string[];
  readonly store: CheckoutStore;
  readonly mirror: CheckoutMirror;
  readonly customers: CustomerService;
  readonly plans: PlanService;
  readonly subscriptions: SubscriptionService;
  /** What the reservation of a group needs. */
  readonly grouping: Grouping;
  readonly processorClock: ProcessorClock;
}

/** The calls of a creation to the service. */
export interface OpenPages {
  /** Brings the row of an open checkout up to date, and returns it with the URL of its page. */
  open(checkout: Checkout): Promise<OpenedCheckout>;
  /** Expires the checkout with this id if it is open. */
  expireIfOpen(checkoutId: string): Promise<void>;
}

export type CheckoutCreation = CheckedOperation<
  NewCheckoutRequest,
  PreparedCheckout,
  CheckoutEffect,
  OpenedCheckout
>;

/** The steps of creating a checkout. */
export function checkoutCreation(context: CheckoutContext, pages: OpenPages): CheckoutCreation {
  const { database, store, mirror, customers, plans, processor, grouping, processorClock } = context;
  return {
    name: 'checkouts.create',
    parentIdOf: ({ customerId }) => customerId,
    prepare: async ({ customerId, sold, page }, id, admission) => {
      if (admission === 'new') requireExpiry(page.expiresAt, processorClock.now());
      const customer = await customers.read(customerId);
      const { processorCustomerId } = customer;
      if (sold.mode !== 'subscription') return { processorCustomerId, sold };
      return { processorCustomerId, sold: await soldSubscription(context, sold, customer, id) };
    },
    call: async (request, prepared, write) =>
      'existing' in prepared ? prepared : createPage(context, request, prepared, write),
    /** The group of the plan stays reserved while the checkout is open. */
    record: async (tx, id, effect) => {
      if ('existing' in effect)
        return { result: { checkout: effect.existing, url: effect.url, isExisting: true } };
      const { checkout, url } = effect;
      // If a webhook created the row, the row and the response can each be newer.
      const { unsettled } = await mirror.record(tx, checkout, 'events');
      const row = await store.read(tx, id);
      // An event may have ended the row before a resumed request reserved the group again.
      if (row.status !== 'open') await grouping.groups.endReservation(tx, id);
      return { result: { checkout: row, url }, needsRefresh: unsettled.length > 0 };
    },
    refresh: async ({ checkout, isExisting }) => {
      const url = await mirror.readUrl(checkout.processorCheckoutSessionId);
      const row = await store.read(database, checkout.id);
      return { checkout: row, url, ...(isExisting ? { isExisting } : {}) };
    },
    idOf: (effect) => ('existing' in effect ? null : effect.checkout.localId),
    existingIdOf: (effect) => ('existing' in effect ? effect.existing.id : null),
    find: async (claim) => {
      const found = await customers.findCreated(claim, (lookUp) => processor.checkouts.find(lookUp));
      // The buyer may have completed it. As in every read, its results are recorded first.
      if (found !== null) await mirror.recordResults(found.checkout);
      return found;
    },
    finishReservation: (claimId) => plans.finishAddOnChange(claimId),
    /** An open checkout keeps the group, even if its claim has ended. */
    release: async (tx, { resourceId }) => {
      const [row] = await store.find(tx, [resourceId]);
      if (row?.status !== 'open') await grouping.groups.endReservation(tx, resourceId);
    },
    replay: async (id, { parentId }) => {
      const [own] = await store.find(database, [id]);
      // If an open checkout existed before, it is the parent of the claim.
      const checkout = own ?? (await store.read(database, parentId ?? id));
      const opened = checkout.status === 'open' ? await pages.open(checkout) : { checkout, url: null };
      return own === undefined ? { ...opened, isExisting: true } : opened;
    },
  };
}

async function soldSubscription(
  context: CheckoutContext,
  wanted: WantedSubscription,
  customer: Customer,
  id: string,
): Promise<SoldSubscription> {
  const { database, plans, grouping } = context;
  const { planId, quantity, addOns, trialOnce, promotionCode, trialPeriodDays, ...sold } = wanted;
  const [main, ...others] = await requireSoldPlans(plans, { planId, quantity, addOns });
  const isUsed =
    trialOnce === true &&
    trialPeriodDays > 0 &&
    (await database.transaction((tx) => hadTrial(tx, grouping, main.plan, customer.id, resultIdOf(id))));
  return {
    ...sold,
    items: [main, ...others].map(({ plan, ...item }) => ({
      processorPriceId: plan.processorPriceId,
      quantity: item.quantity,
    })),
    trialPeriodDays: isUsed ? 0 : trialPeriodDays,
    ...(promotionCode === undefined
      ? {}
      : { processorPromotionCodeId: await findPromotionCode(context, customer, promotionCode) }),
  };
}

async function createPage(
  { customers, plans, processor }: CheckoutContext,
  request: NewCheckoutRequest,
  prepared: NewPage,
  { id, idempotencyKey, mark }: OperationWrite,
): Promise<CheckoutWithUrl> {
  const { customerId, sold, page, metadata } = request;
  try {
    return await processor.checkouts.create({
      ...{ id, idempotencyKey, mark, resultId: resultIdOf(id), terms: termsOf(request) },
      ...prepared,
      page: {
        ...page,
        successUrl: page.successUrl.replaceAll('{CHECKOUT_ID}', id),
        cancelUrl: page.cancelUrl.replaceAll('{CHECKOUT_ID}', id),
      },
      ...(metadata === undefined ? {} : { metadata }),
    });
  } catch (error) {
    const explained = await customers.explainRefusal(error, customerId);
    if (sold.mode !== 'subscription') throw explained;
    const planIds = [sold.planId, ...sold.addOns.map(({ planId }) => planId)];
    throw explainCodeRefusal(await plans.explainRefusal(explained, planIds), sold.promotionCode);
  }
}

type GroupedCheckoutCreation = CheckedReservingOperation<
  NewCheckoutRequest,
  PreparedCheckout,
  CheckoutEffect,
  OpenedCheckout
>;

/** The steps of a request for a checkout to a plan that is sold once: its group is reserved before the call. */
export function groupedCheckoutCreation(
  context: CheckoutContext,
  pages: OpenPages,
  request: NewCheckoutRequest,
  planId: string,
): GroupedCheckoutCreation {
  const { database, plans, subscriptions, grouping, processorClock } = context;
  const { customerId, page } = request;
  const creation = checkoutCreation(context, pages);
  const findReusable = reusableOf(context, request);
  const reserve = (tx: Transaction, id: string, admission: Admission) =>
    reserveGroup(tx, grouping, {
      ...{ customerId, planId, isSold: true, subscriptionId: resultIdOf(id), claimId: id, admission },
      replacesIncomplete: true,
      shares: async (holderId) => (await findReusable(tx, holderId)) !== undefined,
    });
  /** The open checkout that holds the group. If it has ended meanwhile, the request starts again. */
  const share = async (holderId: string) => {
    const row = await database.transaction((tx) => findReusable(tx, holderId));
    const opened = row === undefined ? undefined : await pages.open(row);
    if (opened?.url == null || opened.checkout.status !== 'open') throw groupHeld(holderId);
    return { existing: opened.checkout, url: opened.url };
  };
  return {
    ...creation,
    reserve: async (tx, id, _, admission) => {
      // Called before another checkout is expired for this one.
      if (admission === 'new') requireExpiry(page.expiresAt, processorClock.now());
      // A claim that shared an open checkout held nothing, so a resumed claim is checked unless it has the reservation.
      await reserve(tx, id, admission === 'new' ? 'new' : 'given up');
    },
    prepare: async (_, id, admission) => {
      const prepared = await creation.prepare(request, id, admission);
      const holderId = await database.transaction((tx) => reserve(tx, id, 'given up'));
      if (holderId !== null && holderId !== id) return share(holderId);
      await subscriptions.endIncomplete({ customerId, planId, isSold: true, subscriptionId: resultIdOf(id) });
      return prepared;
    },
    finishReservation: async (claimId) => {
      await plans.finishAddOnChange(claimId);
      const reusable = await database.transaction((tx) => findReusable(tx, claimId));
      if (reusable === undefined) await pages.expireIfOpen(claimId);
      await subscriptions.correctReserved(claimId);
    },
  };
}

/** Finds an open checkout that a request gets instead of a new one. */
function reusableOf(
  { store, plans, grouping, processorClock }: CheckoutContext,
  request: NewCheckoutRequest,
) {
  const { customerId, sold } = request;
  const terms = termsOf(request);
  const isOnce = sold.mode === 'subscription' && sold.trialOnce === true;
  return async (tx: Transaction, id: string): Promise<Checkout | undefined> => {
    const [row] = await store.find(tx, [id]);
    if (row === undefined || !isReusable(row, terms, processorClock.now())) return undefined;
    if (!isOnce || row.trialPeriodDays === null) return row;
    // The customer may have used the trial elsewhere since the checkout was opened.
    const [plan] = await plans.findAll(tx, [sold.planId]);
    const isUsed = plan !== undefined && (await hadTrial(tx, grouping, plan, customerId, resultIdOf(id)));
    return isUsed ? undefined : row;
  };
}

/** A digest of everything that the customer is offered. The time at which the page expires is not part of it. */
function termsOf({ buyer: _, page: { expiresAt: __, ...page }, ...request }: NewCheckoutRequest): string {
  return hashRequest({ ...request, page }).toString('hex');
}
