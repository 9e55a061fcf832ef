import type { CustomerService } from '../customers/customer-service.ts';
import type { LostCustomers } from '../customers/lost-customers.ts';
import { Failure } from '../errors.ts';
import type { Adoption } from '../idempotency/adoption.ts';
import type { Created } from '../idempotency/creation.ts';
import type { IdempotencyService } from '../idempotency/idempotency-service.ts';
import {
  type Applied,
  foldFacts,
  groupFacts,
  type Revisions,
  type Source,
  withoutRow,
  withRecovery,
} from '../mirrors/fold.ts';
import type { Page, PageRequest } from '../mirrors/list-page.ts';
import { ignoredAll, noRevisions, unknownThere, untilKnown } from '../mirrors/refresh.ts';
import type { PlanService } from '../plans/plan-service.ts';
import type { Clock } from '../platform/clock.ts';
import { isOurId, isUuid } from '../platform/id.ts';
import type { Database, Transaction } from '../platform/postgres.ts';
import { SharedReads } from '../platform/shared-statement.ts';
import type { Processor, SubscriptionWithSecret } from '../processor/processor.ts';
import { notReached, objectMissing } from '../processor/refused-write.ts';
import { toSubscription } from './new-subscription.ts';
import {
  followedItem,
  hasEnded,
  type PlanIdOf,
  type Subscription,
  type SubscriptionFacts,
  type SubscriptionItemFacts,
  takeSubscriptionFacts,
} from './subscription.ts';
import type { SubscriptionStore } from './subscription-store.ts';

export interface NewSubscriptionRequest {
  readonly customerId: string;
  readonly planId: string;
  /** 0 is no trial. */
  readonly trialPeriodDays: number;
}

export interface CreatedSubscription {
  readonly subscription: Subscription;
  /** The first invoice's; handed on to the caller and kept nowhere. Null where there is nothing to confirm. */
  readonly clientSecret: string | null;
}

/** A customer with dozens of subscriptions is deleted within seconds, and leaves the processor time for everybody else. */
const readsAtOnce = 5;

interface SubscriptionParts {
  readonly database: Database;
  readonly store: SubscriptionStore;
  readonly customers: CustomerService;
  readonly lostCustomers: LostCustomers;
  readonly plans: PlanService;
  readonly processor: Processor;
  readonly idempotency: IdempotencyService;
  readonly clock: Clock;
}

export class SubscriptionService {
  readonly #parts: SubscriptionParts;
  readonly #reads: SharedReads<Subscription>;

  constructor(parts: SubscriptionParts) {
    this.#parts = parts;
    this.#reads = new SharedReads((ids) => parts.store.find(parts.database, ids));
  }

  create(request: NewSubscriptionRequest, key: string | undefined): Promise<Created<CreatedSubscription>> {
    const { customers, plans, processor, idempotency } = this.#parts;
    const { customerId, planId, trialPeriodDays } = request;
    let processorCustomerId = '';
    let processorPriceId = '';
    return idempotency.create<SubscriptionWithSecret, CreatedSubscription>({
      operation: 'subscriptions.create',
      key,
      request,
      parentId: customerId,
      check: async () => {
        ({ processorCustomerId } = await customers.read(customerId));
        ({ processorPriceId } = await plans.requireActive(planId));
      },
      call: async (id, idempotencyKey) => {
        const order = { id, processorCustomerId, processorPriceId, trialPeriodDays, idempotencyKey };
        try {
          return await processor.subscriptions.create(order);
        } catch (error) {
          throw await plans.truthBehind(await customers.truthBehind(error, customerId), planId);
        }
      },
      ...this.adoption(customerId),
      replay: (id) => this.#replay(id),
    });
  }

  adoption(customerId: string): Adoption<SubscriptionWithSecret, CreatedSubscription> {
    const { customers, database, processor } = this.#parts;
    return {
      find: async (localId, since) => {
        const customer = await customers.findAny(database, customerId);
        if (customer === undefined) return null;
        const { processorCustomerId } = customer;
        return customers.tellTruth(customerId, () =>
          processor.subscriptions.find({ localId, since, processorCustomerId }),
        );
      },
      record: async (tx, id, { subscription, clientSecret }) => {
        // The row, if there is one already, was made by a webhook, and so is at least as new as this answer.
        await this.apply(tx, [subscription], 'events');
        return { subscription: found((await this.#parts.store.find(tx, [id]))[0]), clientSecret };
      },
      release: async () => {},
    };
  }

  async read(id: string): Promise<Subscription> {
    return found(isUuid(id) ? await this.#reads.read(id) : undefined);
  }

  list(request: PageRequest, customerId: string | undefined): Promise<Page<Subscription>> {
    return this.#parts.store.list(this.#parts.database, request, customerId);
  }

  /** At once. Of one that has ended already nothing is asked. */
  async cancel(id: string): Promise<Subscription> {
    const { processor } = this.#parts;
    const subscription = await this.read(id);
    if (hasEnded(subscription.status)) return subscription;
    const attempt = await processor.subscriptions.cancel(subscription.processorSubscriptionId);
    // A refusal may mean that it has ended and the event has not arrived: ours is corrected.
    const corrected =
      attempt.outcome === 'done'
        ? await this.#applyAnswer(subscription, attempt.value)
        : await this.#correct(subscription);
    if (!hasEnded(corrected.status)) throw notReached(attempt, 'subscription', corrected.status);
    return corrected;
  }

  /** Reads the present state of everything of a customer that has not ended, as far as we know. */
  async correctOfCustomer(customerId: string): Promise<void> {
    const { store, database } = this.#parts;
    const open = await store.listOpenOfCustomer(database, customerId);
    for (let start = 0; start < open.length; start += readsAtOnce)
      await Promise.all(open.slice(start, start + readsAtOnce).map((one) => this.#correct(one)));
  }

  /** Reads the processor's present state into ours. */
  async refresh(processorSubscriptionId: string): Promise<Applied> {
    const { database, store, processor } = this.#parts;
    const [row] = await store.findByProcessorIds(database, [processorSubscriptionId]);
    const facts = (await processor.subscriptions.read(processorSubscriptionId))?.subscription;
    if (row === undefined)
      return facts === undefined ? ignoredAll(processorSubscriptionId) : this.#recover(facts);
    if (facts === undefined) return unknownThere;
    await this.#recoverPlans(facts);
    return this.#applyPresent(facts, new Map([[processorSubscriptionId, row.revision]]));
  }

  /** A subscription that Till made whose row was lost. Its customer and plan may have been lost too, and are recovered first. */
  async #recover(facts: SubscriptionFacts): Promise<Applied> {
    const { lostCustomers } = this.#parts;
    const { localId, processorCustomerId } = facts;
    const isOurs =
      isOurId(localId) &&
      processorCustomerId !== null &&
      (await lostCustomers.recover(processorCustomerId, facts));
    if (!isOurs) return ignoredAll(keyOf(facts));
    await this.#recoverPlans(facts);
    return this.#applyPresent(facts, noRevisions);
  }

  async #recoverPlans({ items }: SubscriptionFacts): Promise<void> {
    const { plans } = this.#parts;
    for (const { planLocalId, processorPriceId } of items)
      if (isOurId(planLocalId)) await plans.recover(processorPriceId);
  }

  /** Takes in what the processor says. */
  async apply(tx: Transaction, facts: readonly SubscriptionFacts[], source: Source): Promise<Applied> {
    const { applied, lost } = await this.#apply(tx, facts, source);
    return withRecovery(applied, { lost });
  }

  async #apply(
    tx: Transaction,
    facts: readonly SubscriptionFacts[],
    source: Source,
  ): Promise<{ readonly applied: Applied; readonly lost: readonly string[] }> {
    const { store, plans, clock } = this.#parts;
    const groups = groupFacts(facts, keyOf);
    const prices = facts.flatMap(({ items }) => items.map(({ processorPriceId }) => processorPriceId));
    const [planOf, known] = await Promise.all([
      plans.findByPriceIds(tx, prices),
      store.lockByProcessorIds(tx, [...groups.keys()]),
    ]);
    const planIdOf: PlanIdOf = (processorPriceId) => planOf.get(processorPriceId)?.id;
    const unknown = withoutRow(groups, known, keyOf);
    const { made, lost } = await this.#insert(tx, unknown, planIdOf);
    const now = clock.now();
    const { written, applied } = foldFacts({
      rows: unknown.length === 0 ? known : await store.lockByProcessorIds(tx, [...groups.keys()]),
      groups,
      source,
      keyOf,
      take: (subscription, next: SubscriptionFacts, origin) =>
        takeSubscriptionFacts(subscription, next, planIdOf, origin, now),
    });
    store.update(
      tx,
      written.map(({ after }) => after),
    );
    const knownKeys = new Set(known.map(keyOf));
    const isLost = ({ planLocalId, processorPriceId }: SubscriptionItemFacts) =>
      isOurId(planLocalId) && planIdOf(processorPriceId) === undefined;
    const ofLostPlans = facts.filter((one) => knownKeys.has(keyOf(one)) && one.items.some(isLost));
    return { applied: withRecovery(applied, { made }), lost: [...lost, ...ofLostPlans.map(keyOf)] };
  }

  /**
   * A subscription of a customer and to a Till plan is mirrored wherever it was made, under our id if we made it. One
   * that we made and whose customer or plan has no row is lost, and has to wait for them. Any other is somebody else's.
   */
  async #insert(
    tx: Transaction,
    unknown: readonly SubscriptionFacts[],
    planIdOf: PlanIdOf,
  ): Promise<{ readonly made: readonly string[]; readonly lost: readonly string[] }> {
    const { store, customers, clock } = this.#parts;
    if (unknown.length === 0) return { made: [], lost: [] };
    const owners = await customers.findByProcessorIds(
      tx,
      unknown.flatMap(({ processorCustomerId }) => processorCustomerId ?? []),
    );
    const now = clock.now();
    const subscriptions = unknown.flatMap((facts) => {
      const customer = owners.get(facts.processorCustomerId ?? '');
      const item = followedItem(facts, planIdOf);
      const planId = planIdOf(item.processorPriceId);
      return customer === undefined || planId === undefined
        ? []
        : [toSubscription(facts, { customerId: customer.id, planId, item, now })];
    });
    await store.insert(tx, subscriptions);
    const made = new Set(subscriptions.map(keyOf));
    const lost = unknown.filter((facts) => isOurId(facts.localId) && !made.has(keyOf(facts)));
    return { made: [...made], lost: lost.map(keyOf) };
  }

  async #replay(id: string): Promise<CreatedSubscription> {
    const { processor } = this.#parts;
    const subscription = await this.read(id);
    if (hasEnded(subscription.status)) return { subscription, clientSecret: null };
    const present = await processor.subscriptions.read(subscription.processorSubscriptionId);
    if (present === null) throw objectMissing('subscription');
    return {
      subscription: await this.#applyAnswer(subscription, present.subscription),
      clientSecret: present.clientSecret,
    };
  }

  async #applyAnswer(subscription: Subscription, facts: SubscriptionFacts): Promise<Subscription> {
    const revisions = new Map([[subscription.processorSubscriptionId, subscription.revision]]);
    const { unsettled } = await this.#applyPresent(facts, revisions);
    return unsettled.length > 0 ? this.#correct(subscription) : this.read(subscription.id);
  }

  async #correct({ id, processorSubscriptionId }: Subscription): Promise<Subscription> {
    await untilKnown('subscription', () => this.refresh(processorSubscriptionId));
    return this.read(id);
  }

  /** Whatever could be recovered has been, so nothing is lost. */
  async #applyPresent(facts: SubscriptionFacts, revisions: Revisions): Promise<Applied> {
    const { database } = this.#parts;
    return (await database.transaction((tx) => this.#apply(tx, [facts], revisions))).applied;
  }
}

function found(subscription: Subscription | undefined): Subscription {
  if (subscription === undefined)
    throw new Failure('not_found', 'No subscription has this id. Check the id.');
  return subscription;
}

function keyOf({ processorSubscriptionId }: { readonly processorSubscriptionId: string }): string {
  return processorSubscriptionId;
}
