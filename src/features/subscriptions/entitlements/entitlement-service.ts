import { Failure, notFound } from '#core/errors.ts';
import {
  type Entitlement,
  type EntitlementTerms,
  entitlementOf,
  joinAddOns,
  mergeFeatures,
} from '#core/model/entitlement.ts';
import type { MeterTerms } from '#core/model/meter.ts';
import type { PlanFeatures } from '#core/model/plan-features.ts';
import {
  currentWindow,
  limitOf,
  remainingOf,
  type UsageWindow,
  type WindowTerms,
} from '#core/model/usage-window.ts';
import type { ProcessorClock } from '#core/platform/clock.ts';
import type { Platform } from '#core/platform/platform.ts';
import { SharedReads } from '#core/platform/shared-statement.ts';
import { type CustomerSubscription, type EntitledCustomer, EntitlementStore } from './entitlement-store.ts';

export interface CustomerEntitlements {
  readonly customerId: string;
  readonly externalId: string | null;
  /** True if one of the subscriptions entitles the customer. */
  readonly entitled: boolean;
  /** The latest `until` of the subscriptions that entitle the customer. */
  readonly until: Date | null;
  readonly features: PlanFeatures;
  /** By the keys of all active meters. */
  readonly usage: Readonly<Record<string, MeterUsage>>;
  /** Newest first. */
  readonly subscriptions: readonly SubscriptionEntitlement[];
}

/** What a customer has used of a meter in the current window. `limit` and `remaining` are null if there is no limit. */
interface MeterUsage {
  readonly used: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly periodStart: Date;
  readonly periodEnd: Date;
}

/** The facts that decide about the usage of a customer. */
export interface CustomerTerms
  extends Pick<EntitledCustomer, 'customerId' | 'externalId' | 'meters' | 'readAt'> {
  /** Newest first. */
  readonly subscriptions: readonly SubscriptionTerms[];
  /** Those of all subscriptions that entitle the customer. */
  readonly features: PlanFeatures;
}

export interface CustomerTermsWithUsage extends CustomerTerms {
  /** The usage of a window. Only windows that end after `usedSinceMs` before now are read. */
  usedIn(meterId: string, window: Pick<UsageWindow, 'start' | 'windowNumber'>): number;
}

/** Ids of customers: Till's own, and those of the application. */
export interface CustomerIds {
  readonly ids: readonly string[];
  readonly externalIds: readonly string[];
}

interface SubscriptionTerms extends WindowTerms {
  readonly subscriptionId: string;
}

/** How long before now a window may have ended for its usage to be read: longer than a consumption may be late. */
const usedSinceMs = 2 * 3_600_000;

interface SubscriptionEntitlement
  extends Entitlement,
    Pick<CustomerSubscription, 'subscriptionId' | 'planId' | 'status'> {
  readonly addOnPlanIds: readonly string[];
}

/** Decides what customers may use now. */
export class EntitlementService {
  readonly #context: Platform;
  readonly #store = new EntitlementStore();
  readonly #processorClock: ProcessorClock;
  readonly #entitlementGraceDays: number;
  readonly #byId: SharedReads<EntitledCustomer & { readonly id: string }>;
  readonly #byExternalId: SharedReads<EntitledCustomer & { readonly id: string }>;

  constructor(context: Platform, processorClock: ProcessorClock, entitlementGraceDays: number) {
    this.#context = context;
    this.#processorClock = processorClock;
    this.#entitlementGraceDays = entitlementGraceDays;
    this.#byId = new SharedReads(async (ids) =>
      (await this.#find('id', ids)).map((one) => ({ ...one, id: one.customerId })),
    );
    this.#byExternalId = new SharedReads(async (externalIds) =>
      (await this.#find('externalId', externalIds)).map((one) => ({ ...one, id: one.externalId ?? '' })),
    );
  }

  /** Whether a subscription entitles its customer now. */
  isEntitled(terms: EntitlementTerms): boolean {
    return this.judge(terms).entitled;
  }

  judge(terms: EntitlementTerms, now = this.#processorClock.now()): Entitlement {
    return entitlementOf(terms, { days: this.#entitlementGraceDays, now });
  }

  async ofCustomer(id: string): Promise<CustomerEntitlements> {
    const customer = await this.#byId.read(id);
    if (customer === undefined) throw notFound('customer');
    return this.#toEntitlements(customer);
  }

  async ofExternalId(externalId: string): Promise<CustomerEntitlements> {
    const customer = await this.#byExternalId.read(externalId);
    if (customer === undefined)
      throw new Failure('not_found', 'No customer has this externalId. Check the externalId.');
    return this.#toEntitlements(customer);
  }

  /** The facts that decide about the usage of these customers. Deleted and unknown customers are left out. */
  async findTerms(customerIds: CustomerIds): Promise<readonly CustomerTerms[]> {
    const { database } = this.#context;
    const found = await findByBoth(customerIds, (by, ids) => this.#store.find(database, { by, ids }));
    const now = await this.#timeFor(found);
    return found.map((customer) => toTerms(customer, this.#judgeAll(customer, now)));
  }

  async findTermsWithUsage(customerIds: CustomerIds): Promise<readonly CustomerTermsWithUsage[]> {
    const found = await findByBoth(customerIds, (by, ids) => this.#find(by, ids));
    const now = await this.#timeFor(found);
    return found.map((customer) => withUsage(customer, toTerms(customer, this.#judgeAll(customer, now))));
  }

  #find(by: 'id' | 'externalId', ids: readonly string[]): Promise<readonly EntitledCustomer[]> {
    const { database, clock } = this.#context;
    // Usage may follow either clock: an application may send the time of the machine.
    const now = Math.min(clock.now().getTime(), this.#processorClock.now().getTime());
    return this.#store.findWithUsage(database, { by, ids }, new Date(now - usedSinceMs));
  }

  /** The time that decides about these customers. Only grace depends on it, so the sandbox is usually not asked. */
  #timeFor(customers: readonly EntitledCustomer[]): Date | Promise<Date> {
    const mayBeInGrace = customers.some(({ subscriptions }) =>
      subscriptions.some(({ status }) => status === 'past_due'),
    );
    return mayBeInGrace ? this.#processorClock.read() : this.#processorClock.now();
  }

  #judgeAll({ subscriptions }: EntitledCustomer, now: Date): readonly JudgedSubscription[] {
    return subscriptions.map((one) => {
      const { features, addOns } = one;
      const judgement = this.judge(one, now);
      return {
        // Each field by its name: a batch of usage judges a thousand rows, and copying them whole takes longer.
        subscriptionId: one.subscriptionId,
        planId: one.planId,
        status: one.status,
        currentPeriodStart: one.currentPeriodStart,
        currentPeriodEnd: one.currentPeriodEnd,
        trialEnd: one.trialEnd,
        // A subscription that was never paid gave no access before it expired.
        endedAt: one.status === 'incomplete_expired' ? null : one.endedAt,
        graceEndedAt: judgement.reason === 'past_due' ? judgement.until : null,
        createdAt: one.createdAt,
        processorAsOf: one.processorAsOf,
        windowNumber: one.windowNumber,
        interval: one.interval,
        intervalCount: one.intervalCount,
        addOnPlanIds: addOns?.map((addOn) => addOn.planId) ?? [],
        features: joinAddOns(features, addOns ?? []),
        isEntitled: judgement.entitled,
        judgement,
      };
    });
  }

  async #toEntitlements(customer: EntitledCustomer): Promise<CustomerEntitlements> {
    const { customerId, externalId } = customer;
    const judged = this.#judgeAll(customer, await this.#timeFor([customer]));
    const entitled = judged.filter(({ judgement }) => judgement.entitled);
    const ends = entitled.flatMap(({ judgement }) => judgement.until?.getTime() ?? []);
    const terms = withUsage(customer, toTerms(customer, judged));
    return {
      customerId,
      externalId,
      entitled: entitled.length > 0,
      until: ends.length === 0 ? null : new Date(Math.max(...ends)),
      features: terms.features,
      usage: await this.#usageOf(terms),
      subscriptions: judged.map(({ subscriptionId, planId, addOnPlanIds, status, judgement }) => ({
        ...{ subscriptionId, planId, addOnPlanIds, status, ...judgement },
      })),
    };
  }

  async #usageOf(terms: CustomerTermsWithUsage): Promise<CustomerEntitlements['usage']> {
    if (terms.meters.length === 0) return {};
    const now = await this.#processorClock.read();
    return Object.fromEntries(terms.meters.map((meter) => [meter.key, usageIn(terms, meter, now)]));
  }
}

interface JudgedSubscription extends SubscriptionTerms, Pick<CustomerSubscription, 'planId' | 'status'> {
  readonly addOnPlanIds: readonly string[];
  readonly judgement: Entitlement;
}

function toTerms(
  { customerId, externalId, meters, readAt }: EntitledCustomer,
  judged: readonly JudgedSubscription[],
): CustomerTerms {
  return {
    ...{ customerId, externalId, meters, readAt },
    subscriptions: judged,
    features: mergeFeatures(
      judged.flatMap(({ judgement, features }) => (judgement.entitled ? [features] : [])),
    ),
  };
}

function withUsage({ counters }: EntitledCustomer, terms: CustomerTerms): CustomerTermsWithUsage {
  return {
    ...terms,
    usedIn: (meterId, { start, windowNumber }) => {
      const micros = start.getTime() * 1_000 + windowNumber;
      return counters.find(([id, startMicros]) => id === meterId && startMicros === micros)?.[2] ?? 0;
    },
  };
}

async function findByBoth(
  { ids, externalIds }: CustomerIds,
  find: (by: 'id' | 'externalId', ids: readonly string[]) => Promise<readonly EntitledCustomer[]>,
): Promise<readonly EntitledCustomer[]> {
  const found = await Promise.all([
    ids.length === 0 ? [] : find('id', ids),
    externalIds.length === 0 ? [] : find('externalId', externalIds),
  ]);
  return found.flat();
}

function usageIn(terms: CustomerTermsWithUsage, meter: MeterTerms, now: Date): MeterUsage {
  const window = currentWindow(terms.subscriptions, meter, now);
  const { start, end, isGranted } = window;
  const used = terms.usedIn(meter.id, window);
  const limit = isGranted ? limitOf(terms.features[meter.key]) : 0;
  return { used, limit, remaining: remainingOf(limit, used), periodStart: start, periodEnd: end };
}
