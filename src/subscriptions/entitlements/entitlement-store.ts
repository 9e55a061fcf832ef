import type { AddOnFeatures, EntitlementTerms } from '../../model/entitlement.ts';
import type { MeterTerms } from '../../model/meter.ts';
import type { PlanInterval } from '../../model/plan.ts';
import type { PlanFeatures } from '../../model/plan-features.ts';
import type { Queryable } from '../../platform/postgres.ts';
import { paidUntil } from '../subscription-store.ts';

/** How many ended subscriptions are shown. They give no access, and a customer may have very many. */
const endedMax = 20;

export interface CustomerSubscription extends EntitlementTerms {
  readonly subscriptionId: string;
  readonly planId: string;
  readonly currentPeriodStart: Date | null;
  readonly endedAt: Date | null;
  readonly interval: PlanInterval;
  readonly intervalCount: number;
  readonly features: PlanFeatures;
  /** In the order of `planId`. Null if there are none. */
  readonly addOns: readonly EntitledAddOn[] | null;
}

interface EntitledAddOn extends AddOnFeatures {
  readonly planId: string;
}

/** A customer with one of its subscriptions, or alone if it has none. */
interface CustomerRow extends Owner, Nullable<CustomerSubscription> {
  /** Null if there are none. */
  readonly counters: readonly UsageCount[] | null;
  /** Only in the first row of a statement. Null if there are none. */
  readonly meters: readonly MeterTerms[] | null;
}

interface Owner {
  readonly customerId: string;
  readonly externalId: string | null;
}

/** The meter, the start of the window in milliseconds since 1970, and what was used in it. */
export type UsageCount = readonly [meterId: string, startMs: number, used: number];

type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

/** The subscriptions that decide about a customer's entitlements, newest first. */
export interface EntitledCustomer extends Owner {
  readonly subscriptions: readonly CustomerSubscription[];
  /** Of the windows that have not ended when the statement says so. */
  readonly counters: readonly UsageCount[];
  /** All meters, archived ones included. */
  readonly meters: readonly MeterTerms[];
}

/** Reads a customer, its subscriptions and its usage in one statement, so that all are from the same snapshot. */
export class EntitlementStore {
  /** Deleted customers are left out. Shows what was used in windows that end after `since`. */
  async findById(db: Queryable, ids: readonly string[], since: Date): Promise<readonly EntitledCustomer[]> {
    const sql = `${selection} where customers.id = any($1) and customers.deleted_at is null ${order}`;
    return group(await db.query<CustomerRow>(sql, [ids, since], 'find_entitlements'));
  }

  async findByExternalId(
    db: Queryable,
    externalIds: readonly string[],
    since: Date,
  ): Promise<readonly EntitledCustomer[]> {
    const sql = `${selection}
      join till.external_ids
        on external_ids.customer_id = customers.id and external_ids.external_id = customers.external_id
      where external_ids.external_id = any($1) and customers.deleted_at is null ${order}`;
    return group(await db.query<CustomerRow>(sql, [externalIds, since], 'find_entitlements_by_external_id'));
  }
}

const ended = `subscriptions.status in ('canceled', 'incomplete_expired')`;

const columns = `subscriptions.id, subscriptions.plan_id, subscriptions.status, subscriptions.current_period_start,
  subscriptions.current_period_end, subscriptions.ended_at, subscriptions.trial_end, subscriptions.created_at, subscriptions.add_ons, ${paidUntil} as paid_until`;

/** Few subscriptions have add-ons, and the plans are looked up only for these. */
const addOns = `case when one.add_ons <> '[]' then (
    select jsonb_agg(jsonb_build_object('planId', plans.id, 'quantity', item -> 'quantity', 'features', plans.features)
      order by plans.id)
    from jsonb_array_elements(one.add_ons) as item join till.plans on plans.id = (item ->> 'planId')::uuid) end`;

/** There are few meters. Without any, no counter is looked up. */
const counters = `select jsonb_agg(jsonb_build_array(meter_id, (extract(epoch from starts_at) * 1000)::bigint, used))
    as counters
  from till.usage_counters
  where customer_id = customers.id and ends_at > $2 and (select exists (select from till.meters))`;

const meters = `case when row_number() over () = 1 then (
    select jsonb_agg(jsonb_build_object('id', id, 'key', key, 'resets', resets, 'active', active) order by key)
    from till.meters) end`;

const selection = `
  select customers.id as "customerId", customers.external_id as "externalId", one.id as "subscriptionId",
    one.plan_id as "planId", one.status, one.current_period_start as "currentPeriodStart",
    one.current_period_end as "currentPeriodEnd", one.ended_at as "endedAt", one.trial_end as "trialEnd",
    one.paid_until as "paidUntil", plans.interval, plans.interval_count as "intervalCount", plans.features,
    ${addOns} as "addOns", usage.counters, ${meters} as meters
  from till.customers
  cross join lateral (${counters}) as usage
  left join lateral (
    select ${columns} from till.subscriptions where customer_id = customers.id and not ${ended}
    union all
    (select ${columns} from till.subscriptions where customer_id = customers.id and ${ended}
      order by created_at desc, id desc limit ${endedMax})
  ) one on true
  left join till.plans on plans.id = one.plan_id`;

const order = 'order by customers.id, one.created_at desc, one.id desc';

function group(rows: readonly CustomerRow[]): readonly EntitledCustomer[] {
  const meters = rows.find((row) => row.meters !== null)?.meters ?? [];
  const customers = new Map<
    string,
    Omit<EntitledCustomer, 'subscriptions'> & { subscriptions: CustomerSubscription[] }
  >();
  for (const { customerId, externalId, counters, meters: _, ...row } of rows) {
    const customer = customers.get(customerId) ?? {
      ...{ customerId, externalId, counters: counters ?? [], meters, subscriptions: [] },
    };
    customers.set(customerId, customer);
    // The outer join returns one row with nulls for a customer without subscriptions.
    if (row.subscriptionId !== null) customer.subscriptions.push(row as CustomerSubscription);
  }
  return [...customers.values()];
}
