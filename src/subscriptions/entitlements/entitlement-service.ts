import { Failure } from '../../errors.ts';
import {
  type Entitlement,
  type EntitlementTerms,
  entitlementOf,
  joinAddOns,
  mergeFeatures,
} from '../../model/entitlement.ts';
import type { PlanFeatures } from '../../model/plan-features.ts';
import type { Clock } from '../../platform/clock.ts';
import { isUuid } from '../../platform/id.ts';
import type { Database } from '../../platform/postgres.ts';
import { SharedReads } from '../../platform/shared-statement.ts';
import type { CustomerSubscription, EntitledCustomer, EntitlementStore } from './entitlement-store.ts';

export interface CustomerEntitlements {
  readonly customerId: string;
  readonly externalId: string | null;
  /** True if one of the subscriptions entitles the customer. */
  readonly entitled: boolean;
  /** The latest `until` of the subscriptions that entitle the customer. */
  readonly until: Date | null;
  readonly features: PlanFeatures;
  /** Newest first. */
  readonly subscriptions: readonly SubscriptionEntitlement[];
}

interface SubscriptionEntitlement
  extends Entitlement,
    Pick<CustomerSubscription, 'subscriptionId' | 'planId' | 'status'> {
  readonly addOnPlanIds: readonly string[];
}

interface EntitlementParts {
  readonly database: Database;
  readonly store: EntitlementStore;
  readonly clock: Clock;
  readonly entitlementGraceDays: number;
}

/** Decides what customers may use now. */
export class EntitlementService {
  readonly #parts: EntitlementParts;
  readonly #byId: SharedReads<EntitledCustomer & { readonly id: string }>;
  readonly #byExternalId: SharedReads<EntitledCustomer & { readonly id: string }>;

  constructor(parts: EntitlementParts) {
    const { database, store } = parts;
    this.#parts = parts;
    this.#byId = new SharedReads(async (ids) =>
      (await store.findById(database, ids)).map((one) => ({ ...one, id: one.customerId })),
    );
    this.#byExternalId = new SharedReads(async (externalIds) =>
      (await store.findByExternalId(database, externalIds)).map((one) => ({
        ...one,
        id: one.externalId ?? '',
      })),
    );
  }

  /** Whether a subscription entitles its customer now. */
  isEntitled(terms: EntitlementTerms): boolean {
    return this.judge(terms).entitled;
  }

  judge(terms: EntitlementTerms): Entitlement {
    const { clock, entitlementGraceDays: days } = this.#parts;
    return entitlementOf(terms, { days, now: clock.now() });
  }

  async ofCustomer(id: string): Promise<CustomerEntitlements> {
    const customer = isUuid(id) ? await this.#byId.read(id) : undefined;
    if (customer === undefined) throw new Failure('not_found', 'No customer has this id. Check the id.');
    return this.#toEntitlements(customer);
  }

  async ofExternalId(externalId: string): Promise<CustomerEntitlements> {
    const customer = await this.#byExternalId.read(externalId);
    if (customer === undefined)
      throw new Failure('not_found', 'No customer has this externalId. Check the externalId.');
    return this.#toEntitlements(customer);
  }

  #toEntitlements({ customerId, externalId, subscriptions }: EntitledCustomer): CustomerEntitlements {
    const judged = subscriptions.map(({ subscriptionId, planId, status, features, addOns, ...terms }) => ({
      ...{ subscriptionId, planId, addOnPlanIds: addOns?.map((addOn) => addOn.planId) ?? [], status },
      features: joinAddOns(features, addOns ?? []),
      ...this.judge({ status, ...terms }),
    }));
    const entitled = judged.filter((one) => one.entitled);
    const ends = entitled.flatMap(({ until }) => until?.getTime() ?? []);
    return {
      customerId,
      externalId,
      entitled: entitled.length > 0,
      until: ends.length === 0 ? null : new Date(Math.max(...ends)),
      features: mergeFeatures(entitled.map(({ features }) => features)),
      subscriptions: judged.map(({ features: _, ...one }) => one),
    };
  }
}
