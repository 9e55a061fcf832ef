import type { CustomerService } from '../customers/customer-service.ts';
import { hashRequest } from '../idempotency/claim.ts';
import type {
  Admission,
  CheckedOperation,
  CheckedReservingOperation,
  FoundClaim,
  OperationWrite,
  Recorded,
  ReleasedClaim,
} from '../idempotency/operation.ts';
import type { MirrorParts } from '../mirrors/mirror.ts';
import { type Checkout, isReusable, requireExpiry } from '../model/checkout.ts';
import type { Customer } from '../model/customer.ts';
import type { Plan } from '../model/plan.ts';
import type { PlanQuantity } from '../model/subscription-items.ts';
import type { PlanService } from '../plans/plan-service.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import type {
  CheckoutPage,
  CheckoutWithUrl,
  NewCheckout,
  SavedCard,
  SoldPayment,
  SoldSubscription,
} from '../processor/port/checkout-calls.ts';
import { requireSoldPlans } from '../subscriptions/add-ons.ts';
import { explainCodeRefusal, findPromotionCode } from '../subscriptions/promotion-code.ts';
import { type GroupParts, groupHeld, reserveGroup } from '../subscriptions/reserve-group.ts';
import type { SubscriptionService } from '../subscriptions/subscription-service.ts';
import type { CheckoutMirror } from './checkout-mirror.ts';
import { resultIdOf } from './checkout-row.ts';
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

export interface NewCheckoutRequest extends Pick<NewCheckout, 'metadata'> {
  readonly customerId: string;
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

/** What the call to the processor needs. */
type PreparedCheckout = Pick<NewCheckout, 'processorCustomerId' | 'sold'> | Existing;

type CheckoutEffect = CheckoutWithUrl | Existing;

export interface CheckoutParts extends MirrorParts {
  readonly store: CheckoutStore;
  readonly mirror: CheckoutMirror;
  readonly customers: CustomerService;
  readonly plans: PlanService;
  readonly subscriptions: SubscriptionService;
  /** The parts that reserve groups. */
  readonly grouping: GroupParts;
}

/** What a creation asks of the service. */
export interface OpenPages {
  /** Brings the row of an open checkout up to date, and returns it with the URL of its page. */
  open(checkout: Checkout): Promise<OpenedCheckout>;
  /** Expires the checkout with this id if it is open, unless a request with these terms can use it. */
  expireIfOpen(checkoutId: string, terms?: string): Promise<void>;
}

/** The steps of creating a checkout. */
export class CheckoutCreation
  implements CheckedOperation<NewCheckoutRequest, PreparedCheckout, CheckoutEffect, OpenedCheckout>
{
  readonly name = 'checkouts.create';
  protected readonly parts: CheckoutParts;
  protected readonly pages: OpenPages;

  constructor(parts: CheckoutParts, pages: OpenPages) {
    this.parts = parts;
    this.pages = pages;
  }

  parentIdOf({ customerId }: NewCheckoutRequest): string {
    return customerId;
  }

  async prepare(
    { customerId, sold, page }: NewCheckoutRequest,
    id: string,
    admission: Admission,
  ): Promise<PreparedCheckout> {
    const { customers, clock } = this.parts;
    if (admission === 'new') requireExpiry(page.expiresAt, clock.now());
    const customer = await customers.read(customerId);
    const { processorCustomerId } = customer;
    if (sold.mode !== 'subscription') return { processorCustomerId, sold };
    return { processorCustomerId, sold: await this.#soldSubscription(sold, customer, id) };
  }

  async call(
    request: NewCheckoutRequest,
    prepared: PreparedCheckout,
    { id, idempotencyKey, mark }: OperationWrite,
  ): Promise<CheckoutEffect> {
    if ('existing' in prepared) return prepared;
    const { customers, plans, processor } = this.parts;
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

  /** The group of the plan stays reserved while the checkout is open. */
  async record(tx: Transaction, id: string, effect: CheckoutEffect): Promise<Recorded<OpenedCheckout>> {
    const { store, mirror } = this.parts;
    if ('existing' in effect)
      return { result: { checkout: effect.existing, url: effect.url, isExisting: true } };
    const { checkout, url } = effect;
    // If a webhook created the row, the row and the response can each be newer.
    const { unsettled } = await mirror.record(tx, checkout, 'events');
    const row = await store.read(tx, id);
    // An event may have ended the row before a resumed request reserved the group again.
    if (row.status !== 'open') await this.parts.grouping.groups.endReservation(tx, id);
    return { result: { checkout: row, url }, needsRefresh: unsettled.length > 0 };
  }

  async refresh({ checkout, isExisting }: OpenedCheckout): Promise<OpenedCheckout> {
    const { store, database, mirror } = this.parts;
    const url = await mirror.readUrl(checkout.processorCheckoutSessionId);
    const row = await store.read(database, checkout.id);
    return { checkout: row, url, ...(isExisting ? { isExisting } : {}) };
  }

  idOf(effect: CheckoutEffect): string | null {
    return 'existing' in effect ? null : effect.checkout.localId;
  }

  existingIdOf(effect: CheckoutEffect): string | null {
    return 'existing' in effect ? effect.existing.id : null;
  }

  async find(claim: FoundClaim): Promise<CheckoutEffect | null> {
    const { customers, processor, mirror } = this.parts;
    const found = await customers.findCreated(claim, (lookUp) => processor.checkouts.find(lookUp));
    // The buyer may have completed it. Its results are recorded first, as in every read.
    if (found !== null) await mirror.recordResults(found.checkout);
    return found;
  }

  /** An open checkout keeps the group, even if its claim has ended. */
  async release(tx: Transaction, { resourceId }: ReleasedClaim): Promise<void> {
    const [row] = await this.parts.store.find(tx, [resourceId]);
    if (row?.status !== 'open') await this.parts.grouping.groups.endReservation(tx, resourceId);
  }

  async replay(id: string, { parentId }: FoundClaim): Promise<OpenedCheckout> {
    const { database, store } = this.parts;
    const [own] = await store.find(database, [id]);
    // If an open checkout existed before, it is the parent of the claim.
    const checkout = own ?? (await store.read(database, parentId ?? id));
    const opened = checkout.status === 'open' ? await this.pages.open(checkout) : { checkout, url: null };
    return own === undefined ? { ...opened, isExisting: true } : opened;
  }

  async #soldSubscription(
    wanted: WantedSubscription,
    customer: Customer,
    id: string,
  ): Promise<SoldSubscription> {
    const { plans, subscriptions } = this.parts;
    const { planId, quantity, addOns, trialOnce, promotionCode, trialPeriodDays, ...sold } = wanted;
    const [main, ...others] = await requireSoldPlans(plans, { planId, quantity, addOns });
    const isUsed =
      trialOnce === true &&
      trialPeriodDays > 0 &&
      (await subscriptions.hadTrial(main.plan, customer.id, resultIdOf(id)));
    return {
      ...sold,
      items: [main, ...others].map(({ plan, ...item }) => ({
        processorPriceId: plan.processorPriceId,
        quantity: item.quantity,
      })),
      trialPeriodDays: isUsed ? 0 : trialPeriodDays,
      ...(promotionCode === undefined
        ? {}
        : { processorPromotionCodeId: await findPromotionCode(this.parts, customer, promotionCode) }),
    };
  }
}

/** The steps of creating a checkout for a plan of a group: the group is reserved before the call. */
export class GroupedCheckoutCreation
  extends CheckoutCreation
  implements CheckedReservingOperation<NewCheckoutRequest, PreparedCheckout, CheckoutEffect, OpenedCheckout>
{
  readonly #terms: string;
  readonly #planId: string;

  constructor(parts: CheckoutParts, pages: OpenPages, request: NewCheckoutRequest, plan: Plan) {
    super(parts, pages);
    this.#terms = termsOf(request);
    this.#planId = plan.id;
  }

  async reserve(
    tx: Transaction,
    id: string,
    { customerId, page }: NewCheckoutRequest,
    admission: Admission,
  ): Promise<undefined> {
    // Before another checkout is expired for this one.
    if (admission === 'new') requireExpiry(page.expiresAt, this.parts.clock.now());
    // A claim that shared an open checkout held nothing, so a resumed claim is checked unless it has the reservation.
    await this.#reserve(tx, id, customerId, admission === 'new' ? 'new' : 'given up');
  }

  override async prepare(
    request: NewCheckoutRequest,
    id: string,
    admission: Admission,
  ): Promise<PreparedCheckout> {
    const { database, subscriptions } = this.parts;
    const { customerId } = request;
    const prepared = await super.prepare(request, id, admission);
    const holderId = await database.transaction((tx) => this.#reserve(tx, id, customerId, 'given up'));
    if (holderId !== null && holderId !== id) return this.#share(holderId);
    await subscriptions.endIncomplete({ customerId, planId: this.#planId, subscriptionId: resultIdOf(id) });
    return prepared;
  }

  finishReservation(claimId: string): Promise<void> {
    return this.pages.expireIfOpen(claimId, this.#terms);
  }

  #reserve(tx: Transaction, id: string, customerId: string, admission: Admission): Promise<string | null> {
    return reserveGroup(tx, this.parts.grouping, {
      ...{ customerId, planId: this.#planId, subscriptionId: resultIdOf(id), claimId: id, admission },
      replacesIncomplete: true,
      shares: async (db, holderId) => (await this.#findReusable(db, holderId)) !== undefined,
    });
  }

  async #findReusable(db: Queryable, id: string): Promise<Checkout | undefined> {
    const { store, clock } = this.parts;
    const [row] = await store.find(db, [id]);
    return row !== undefined && isReusable(row, this.#terms, clock.now()) ? row : undefined;
  }

  /** The open checkout that holds the group. If it has ended meanwhile, the request starts again. */
  async #share(holderId: string): Promise<Existing> {
    const row = await this.#findReusable(this.parts.database, holderId);
    const opened = row === undefined ? undefined : await this.pages.open(row);
    if (opened?.url == null || opened.checkout.status !== 'open') throw groupHeld(holderId);
    return { existing: opened.checkout, url: opened.url };
  }
}

/** A digest of everything that the buyer is offered. The time at which the page expires is not part of it. */
function termsOf({ page: { expiresAt: _, ...page }, ...request }: NewCheckoutRequest): string {
  return hashRequest({ ...request, page }).toString('hex');
}
