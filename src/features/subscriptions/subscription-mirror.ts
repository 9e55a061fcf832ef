import { type Applied, rowTime, type Source, type Take } from '#core/model/facts.ts';
import { noMetadata, type OwnedChange } from '#core/model/metadata.ts';
import type { Plan } from '#core/model/plan.ts';
import {
  type ChangedSubscriptionFacts,
  type DetachedMethodFacts,
  hasEnded,
  noReason,
  type Subscription,
  type SubscriptionFacts,
  type SubscriptionStatus,
  takeReason,
  takeSubscriptionFacts,
  valuesOfSubscription,
} from '#core/model/subscription.ts';
import { mainItem, type PlanOf, type SubscriptionItemFacts } from '#core/model/subscription-items.ts';
import { noTerms } from '#core/model/subscription-terms.ts';
import { derivedId, idTime, isOurId } from '#core/platform/id.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import {
  applyToRows,
  createdWithoutMetadata,
  type Inserted,
  lockRows,
  withRecovery,
} from '#engine/mirrors/apply-facts.ts';
import type { Mirror, MirrorContext } from '#engine/mirrors/mirror.ts';
import {
  findOrRefresh,
  ignoredAll,
  nothingApplied,
  revisionsOf,
  unknownToProcessor,
  untilSettled,
} from '#engine/mirrors/refresh.ts';
import type { CustomerMirror } from '../customers/customer-mirror.ts';
import type { LostCustomers } from '../customers/lost-customers.ts';
import type { PlanMirror } from '../plans/plan-mirror.ts';
import { subscriptionView } from './subscription-fields.ts';
import { SubscriptionStore } from './subscription-store.ts';

export class SubscriptionMirror implements Mirror<SubscriptionFacts> {
  readonly resource = 'subscription';
  /** For events that say that a subscription changed, but do not contain it. */
  readonly changed: Mirror<ChangedSubscriptionFacts>;
  /** For events about a change whose invoice the processor has voided, because it was not paid in time. */
  readonly ofExpiredChanges: Mirror<ChangedSubscriptionFacts>;
  /** For events about a voided invoice of a subscription, which may have ended with it. */
  readonly ofVoidedInvoices: Mirror<ChangedSubscriptionFacts>;
  /** For events about payment methods that can no longer be used. The key is the key of the customer. */
  readonly ofDetachedMethods: Mirror<DetachedMethodFacts>;
  readonly #context: MirrorContext;
  readonly #store = new SubscriptionStore();
  readonly #customers: CustomerMirror;
  readonly #lostCustomers: LostCustomers;
  readonly #plans: PlanMirror;

  constructor(
    context: MirrorContext,
    customers: CustomerMirror,
    lostCustomers: LostCustomers,
    plans: PlanMirror,
  ) {
    this.#context = context;
    this.#customers = customers;
    this.#lostCustomers = lostCustomers;
    this.#plans = plans;
    this.changed = {
      resource: 'subscription',
      keyOf: this.keyOf,
      apply: (tx, facts) => this.#toRefresh(tx, facts.map(this.keyOf)),
      refresh: (key) => this.refresh(key),
    };
    this.ofExpiredChanges = { ...this.changed, refresh: (key) => this.#restoreAndRefresh(key) };
    this.ofVoidedInvoices = { ...this.changed, refresh: (key) => this.#restoreAndRefresh(key, hasEnded) };
    this.ofDetachedMethods = {
      resource: 'subscription',
      keyOf: ({ processorCustomerId }) => processorCustomerId,
      apply: (tx, facts) => this.#withoutMethods(tx, facts),
      refresh: (key) => this.#refreshWithMethod(key),
    };
  }

  keyOf({ processorSubscriptionId }: Pick<SubscriptionFacts, 'processorSubscriptionId'>): string {
    return processorSubscriptionId;
  }

  /**
   * A subscription that Till created is lost if its customer or plan has no row. A refresh recovers them. It also
   * recovers lost plans of a subscription that has a row.
   */
  async apply(tx: Transaction, facts: readonly SubscriptionFacts[], source: Source): Promise<Applied> {
    const { applied, planOf } = await this.#apply(tx, facts, source);
    const isOfLostPlan = ({ planLocalId, processorPriceId }: SubscriptionItemFacts) =>
      isOurId(planLocalId) && planOf(processorPriceId) === undefined;
    const withoutRow = new Set(applied.ignored);
    const lost = facts.filter((one) =>
      withoutRow.has(this.keyOf(one)) ? isOurId(one.localId) : one.items.some(isOfLostPlan),
    );
    return withRecovery(applied, { lost: lost.map(this.keyOf) });
  }

  async refresh(key: string): Promise<Applied> {
    const { database, processor } = this.#context;
    const [row] = await this.#store.findByKeys(database, [key]);
    const facts = (await processor.subscriptions.read(key))?.subscription;
    if (facts === undefined) return row === undefined ? ignoredAll(key) : unknownToProcessor;
    // A subscription without a Till id belongs to Till if its customer and its plan do.
    const isLost = row === undefined && isOurId(facts.localId);
    if (isLost && !(await this.#lostCustomers.recover(facts))) return ignoredAll(key);
    await this.#recoverPlans(facts);
    // Recovery is done, so objects that are still lost do not cause another refresh.
    const { applied } = await database.transaction((tx) => this.#apply(tx, [facts], revisionsOf(key, row)));
    return applied;
  }

  findByKeys(db: Queryable, keys: readonly string[]): Promise<readonly Subscription[]> {
    return this.#store.findByKeys(db, keys);
  }

  /** The Till plans that the subscription bills, by the ids of their prices. */
  async findPlans(
    db: Queryable,
    facts: SubscriptionFacts,
  ): Promise<(processorPriceId: string) => Plan | undefined> {
    const plans = await this.#plans.find(db, pricesOf(facts));
    return (processorPriceId) => plans.get(processorPriceId);
  }

  /** The row, which is created first if it is missing. Undefined if the subscription does not belong to Till. */
  findOrRefresh(key: string): Promise<Subscription | undefined> {
    const find = () => this.findByKeys(this.#context.database, [key]);
    return findOrRefresh(find, () => this.refresh(key));
  }

  /** The keys of subscriptions whose period ended without an event. */
  listStale(limit: number): Promise<readonly string[]> {
    return this.#store.listStale(this.#context.database, limit);
  }

  async markChecked(key: string): Promise<void> {
    await this.#store.markChecked(this.#context.database, key);
  }

  async #apply(
    tx: Transaction,
    facts: readonly SubscriptionFacts[],
    source: Source,
  ): Promise<{ readonly applied: Applied; readonly planOf: PlanOf }> {
    const { clock } = this.#context;
    const prices = facts.flatMap(pricesOf);
    const { keyOf } = this;
    const [found, rows] = await Promise.all([
      this.#plans.find(tx, prices),
      lockRows<Subscription, SubscriptionFacts>(tx, this.#store, facts, keyOf),
    ]);
    const planOf: PlanOf = (processorPriceId) => found.get(processorPriceId);
    const now = clock.now();
    const inserted = await this.#insert(tx, rows.unknown, planOf, now);
    const take: Take<Subscription, SubscriptionFacts> = (subscription, next, origin, at) =>
      takeSubscriptionFacts(subscription, next, planOf, origin, at);
    const beforeWrite = (written: readonly OwnedChange[]) => this.#customers.hold(tx, written);
    const folding = { rows, inserted, source, keyOf, take, view, now, beforeWrite };
    const { applied } = await applyToRows(tx, this.#store, folding);
    const partial = new Set(rows.unknown.filter(({ hasMoreItems }) => hasMoreItems).map(keyOf));
    const created = inserted?.created.map(keyOf) ?? [];
    const lost = [
      ...createdWithoutMetadata(source, rows, inserted, keyOf),
      ...created.filter((key) => partial.has(key)),
    ];
    return { applied: withRecovery(applied, { lost }), planOf };
  }

  async #toRefresh(tx: Transaction, keys: readonly string[]): Promise<Applied> {
    const known = new Set((await this.#store.findByKeys(tx, keys)).map(this.keyOf));
    return {
      ...nothingApplied,
      ignored: keys.filter((key) => !known.has(key)),
      unsettled: keys.filter((key) => known.has(key)),
    };
  }

  async #withoutMethods(tx: Transaction, facts: readonly DetachedMethodFacts[]): Promise<Applied> {
    const keys = [...new Set(facts.map(({ processorCustomerId }) => processorCustomerId))];
    const open = await this.#store.listOpenWithMethod(tx, keys);
    const isUsed = (one: DetachedMethodFacts) =>
      open.some(
        ({ processorCustomerId, defaultPaymentMethodId }) =>
          processorCustomerId === one.processorCustomerId && defaultPaymentMethodId === one.paymentMethodId,
      );
    const used = new Set(facts.filter(isUsed).map(({ processorCustomerId }) => processorCustomerId));
    return {
      ...nothingApplied,
      ignored: keys.filter((key) => !used.has(key)),
      unsettled: [...used],
    };
  }

  /** The amounts that waited for the voided invoice must not be lost with it. See decision 0016. */
  async #restoreAndRefresh(
    key: string,
    restores: (status: SubscriptionStatus) => boolean = () => true,
  ): Promise<Applied> {
    const applied = await this.refresh(key);
    const [row] = await this.#store.findByKeys(this.#context.database, [key]);
    if (row !== undefined && restores(row.status))
      await this.#context.processor.subscriptionChanges.restoreUnbilled(row);
    return applied;
  }

  /** Refreshes the open subscriptions of a customer that have a payment method of their own. */
  async #refreshWithMethod(processorCustomerId: string): Promise<Applied> {
    const { database } = this.#context;
    const open = await this.#store.listOpenWithMethod(database, [processorCustomerId]);
    const changed: string[] = [];
    for (const { processorSubscriptionId } of open)
      await untilSettled(async () => {
        const applied = await this.refresh(processorSubscriptionId);
        changed.push(...applied.changed);
        return applied;
      });
    return { ...nothingApplied, changed };
  }

  /** Mirrors a subscription of a Till customer to a Till plan, even if it was created outside Till. */
  async #insert(
    tx: Transaction,
    unknown: readonly SubscriptionFacts[],
    planOf: PlanOf,
    now: Date,
  ): Promise<Inserted<Subscription> | undefined> {
    if (unknown.length === 0) return undefined;
    const owners = await this.#customers.find(
      tx,
      unknown.map(({ processorCustomerId }) => processorCustomerId),
    );
    const subscriptions = unknown.flatMap((facts) => {
      const customer = owners.get(facts.processorCustomerId);
      const item = mainItem(facts, noMain, planOf);
      const plan = item && planOf(item.processorPriceId);
      if (customer === undefined || plan === undefined) return [];
      return [toSubscription(facts, { customerId: customer.id, planId: plan.id, planOf, now })];
    });
    this.#customers.hold(
      tx,
      subscriptions.map((after) => ({ after })),
    );
    await this.#store.insert(tx, subscriptions);
    return { created: subscriptions, lost: [] };
  }

  async #recoverPlans({ items, pendingChange }: SubscriptionFacts): Promise<void> {
    for (const { planLocalId, processorPriceId } of items)
      if (isOurId(planLocalId)) await this.#plans.recover(processorPriceId);
    // A schedule names the price without its Till id. Prices that the subscription has now were looked at above.
    const current = new Set(items.map(({ processorPriceId }) => processorPriceId));
    for (const { processorPriceId } of pendingChange?.items ?? [])
      if (!current.has(processorPriceId)) await this.#plans.recover(processorPriceId);
  }
}

/** `entitled` follows from the other fields, so any value will do when looking for a change. */
function view(subscription: Subscription): object {
  return subscriptionView(subscription, false);
}

const noMain = { processorMainItemId: null };

function pricesOf({ items, pendingChange }: SubscriptionFacts): readonly string[] {
  return [...items, ...(pendingChange?.items ?? [])].map(({ processorPriceId }) => processorPriceId);
}

function toSubscription(
  facts: SubscriptionFacts,
  links: {
    readonly customerId: string;
    readonly planId: string;
    readonly planOf: PlanOf;
    readonly now: Date;
  },
): Subscription {
  const { localId, processorSubscriptionId, createdAt } = facts;
  const { customerId, planId, planOf, now } = links;
  return {
    id: isOurId(localId) ? localId : derivedId('subscription', processorSubscriptionId, createdAt),
    processorSubscriptionId,
    customerId,
    ...valuesOfSubscription(facts, { planId, ...noMain, ...noTerms }, planOf),
    latestInvoiceId: null,
    paidUntil: null,
    metadata: facts.metadata ?? noMetadata,
    cancellationReason: takeReason(noReason, facts),
    ...rowTime(facts.asOf),
    createdAt: isOurId(localId) ? idTime(localId) : createdAt,
    updatedAt: now,
    revision: 0,
  };
}
