import { isOutageOfAll } from '#core/errors.ts';
import type { PlanFacts } from '#core/model/plan.ts';
import type { Subscription, SubscriptionFacts } from '#core/model/subscription.ts';
import { refreshObject } from '#engine/sync/refresh-object.ts';
import { subscriptionStage, withAllItems } from '#features/subscriptions/subscription-import.ts';
import { Census, type CensusPlan, type CensusProduct, listedMax } from './census.ts';
import { completeItems } from './complete-items.ts';
import { isLive, isPaying } from './customer-holdings.ts';
import type { ImportContext } from './import-context.ts';
import { canBePlan, type PlanSettings, withSettings } from './plan-settings.ts';

/** A list that names the first customers, and counts the others. */
export interface Listed<T> {
  readonly items: readonly T[];
  readonly more: number;
}

interface NamedCustomer {
  readonly processorCustomerId: string;
  readonly email: string | null;
}

/** The last part of the report: who pays, and whether Till gives them access. */
export interface AccessReport {
  /** Customers with a subscription that is active or in its trial. */
  readonly payingCount: number;
  /** How many of these customers Till calls entitled. */
  readonly entitledCount: number;
  /** Customers that pay and are not entitled, and subscriptions that cannot be read, whose customers are unknown. */
  readonly exceptions: Listed<Exception>;
  /** Customers that pay and did not get their external ids. Applications would find other customers by these ids. */
  readonly withoutExternalId: Listed<Exception>;
  readonly pastDueCount: number;
  readonly featurelessCount: number;
  readonly unusedFeatures: readonly string[];
  readonly severalSubscriptions: Listed<NamedCustomer & { readonly liveCount: number }>;
  /** Products without a group whose plans look like alternatives. */
  readonly alternatives: {
    readonly pricesOfOneProduct: readonly CensusProduct[];
    readonly disjointProducts: readonly CensusProduct[];
  };
}

interface Exception {
  /** Null if the subscription cannot be read. */
  readonly processorCustomerId: string | null;
  readonly email: string | null;
  readonly reason: string;
}

interface AuditOptions {
  readonly isDryRun: boolean;
  /** The writes that a dry run would have made. */
  readonly settings: PlanSettings;
  /** Prices and customers that a dry run found and an import would not adopt. */
  readonly refused: ReadonlySet<string>;
  /** Why these customers did not get their external ids. */
  readonly findSkipped: (processorCustomerIds: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Compares the subscriptions that the processor has now with what Till says about their customers. It reads the list
 * again instead of trusting what the import did before, so that it notices everything that went wrong on the way.
 */
export async function auditAccess(context: ImportContext, options: AuditOptions): Promise<AccessReport> {
  const { processor } = context;
  const plans: readonly CensusPlan[] = options.isDryRun
    ? await foreseePlans(context, options)
    : await context.plans.list(false);
  const planOf = new Map(plans.map((plan) => [plan.processorPriceId, plan]));
  const census = new Census();
  const unreadable: Exception[] = [];
  let unreadableCount = 0;
  for await (const page of processor.subscriptions.list({ isOpen: true })) {
    options.signal?.throwIfAborted();
    for (const { id, reason } of page.leftOut) {
      unreadableCount += 1;
      const text = `Till cannot read the subscription ${id ?? 'without an id'}: ${reason}.`;
      if (unreadable.length < listedMax)
        unreadable.push({ processorCustomerId: null, email: null, reason: text });
    }
    const complete = (facts: SubscriptionFacts) => withAllItems(processor, facts);
    const { completed, failures } = await completeItems(page.items, complete, context.logger);
    const listed = page.items.map((facts) => completed.get(facts) ?? facts);
    const obstacles = await findObstacles(context, options, listed, failures);
    const hidden = await options.findSkipped(listed.flatMap((facts) => facts.processorCustomerId ?? []));
    for (const { processorSubscriptionId, processorCustomerId, status, items } of listed) {
      // The processor always shows the customer. A response without it is malformed.
      if (processorCustomerId === null) continue;
      census.add({
        processorCustomerId,
        isPaying: isPaying(status),
        isLive: isLive(status),
        isPastDue: status === 'past_due',
        obstacle: obstacles.get(processorSubscriptionId) ?? null,
        externalIdObstacle: hidden.get(processorCustomerId) ?? null,
        plans: items.flatMap((item) => planOf.get(item.processorPriceId) ?? []),
      });
    }
  }
  const { exceptions, several, severalCount, hidden, hiddenCount, ...others } = census.result(plans);
  const { productsWithPrices, disjointProducts, ...counts } = others;
  const emails = await findEmails(context, [...exceptions.keys(), ...several.keys(), ...hidden.keys()]);
  const named = (key: string) => ({ processorCustomerId: key, email: emails.get(key) ?? null });
  const listed = [...[...exceptions].map(([key, reason]) => ({ ...named(key), reason })), ...unreadable];
  const exceptionCount = counts.payingCount - counts.entitledCount + unreadableCount;
  return {
    ...counts,
    exceptions: {
      items: listed.slice(0, listedMax),
      more: exceptionCount - Math.min(listed.length, listedMax),
    },
    withoutExternalId: {
      items: [...hidden].map(([key, reason]) => ({ ...named(key), reason })),
      more: hiddenCount - hidden.size,
    },
    severalSubscriptions: {
      items: [...several].map(([key, liveCount]) => ({ ...named(key), liveCount })),
      more: severalCount - several.size,
    },
    alternatives: { pricesOfOneProduct: productsWithPrices, disjointProducts },
  };
}

async function foreseePlans(
  { processor }: ImportContext,
  { settings }: AuditOptions,
): Promise<readonly CensusPlan[]> {
  const plans: CensusPlan[] = [];
  for await (const { items } of processor.plans.list())
    plans.push(...items.filter(canBePlan).map((facts) => censusPlan(withSettings(facts, settings))));
  return plans;
}

function censusPlan({ product, price }: PlanFacts): CensusPlan {
  const { processorProductId, groupName, features } = product;
  const { processorPriceId, addOn } = price;
  return {
    ...{ processorPriceId, processorProductId, groupName, features },
    name: product.name ?? processorProductId,
    addOn: addOn ?? false,
  };
}

/** Why subscriptions that are paid for do not entitle their customers, by the processor's ids. */
async function findObstacles(
  context: ImportContext,
  options: AuditOptions,
  page: readonly SubscriptionFacts[],
  failures: ReadonlyMap<SubscriptionFacts, string>,
): Promise<ReadonlyMap<string, string>> {
  const paying = page.filter(({ status }) => isPaying(status));
  const { refuse } = subscriptionStage(context, options.refused);
  const obstacles = new Map<string, string>();
  const rows = await findRows(context, paying);
  for (const facts of paying) {
    const { processorSubscriptionId: id } = facts;
    const row = rows.get(id);
    const refusal = row === undefined ? (failures.get(facts) ?? refuse(facts)) : undefined;
    if (refusal !== undefined) obstacles.set(id, `${id} is left out. ${refusal}`);
    if (options.isDryRun || refusal !== undefined) continue;
    const reason = await findObstacle(context, id, row);
    if (reason !== null) obstacles.set(id, reason);
  }
  return obstacles;
}

async function findRows(
  { database, mirrors }: ImportContext,
  subscriptions: readonly SubscriptionFacts[],
): Promise<ReadonlyMap<string, Subscription>> {
  const keys = subscriptions.map(({ processorSubscriptionId }) => processorSubscriptionId);
  const rows = keys.length === 0 ? [] : await mirrors.subscriptions.findByKeys(database, keys);
  return new Map(rows.map((row) => [row.processorSubscriptionId, row]));
}

/**
 * The subscription may be newer than the import's list of subscriptions, or have changed since. So it is read again.
 */
async function findObstacle(
  { database, mirrors, entitlements, logger }: ImportContext,
  id: string,
  row: Subscription | undefined,
): Promise<string | null> {
  if (row !== undefined && entitlements.isEntitled(row)) return null;
  const { failure } = await refreshObject(mirrors.subscriptions, id, logger);
  const [after] = await mirrors.subscriptions.findByKeys(database, [id]);
  if (after !== undefined) return entitlements.isEntitled(after) ? null : `${id} is ${after.status}.`;
  return failure === null ? `${id} has no row. Run the import again.` : `${id} has no row. ${failure}`;
}

/** The e-mail addresses of customers. Those without a row are read from the processor, if Till can read them. */
async function findEmails(
  { database, mirrors, processor, logger }: ImportContext,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const rows = keys.length === 0 ? [] : await mirrors.customers.findByKeys(database, keys);
  const emails = new Map(rows.map((row) => [row.processorCustomerId, row.email]));
  for (const key of keys) {
    if (emails.has(key)) continue;
    const facts = await processor.customers.read(key).catch((error: unknown) => {
      if (isOutageOfAll(error)) throw error;
      logger.warn({ err: error, id: key }, 'email of a customer not read');
      return null;
    });
    emails.set(key, facts === null || facts === 'deleted' ? null : facts.email);
  }
  return emails;
}
