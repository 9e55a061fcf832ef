import type { AddOnFeatures, EntitlementTerms } from '#core/model/entitlement.ts';
import type { MeterTerms } from '#core/model/meter.ts';
import type { PlanInterval } from '#core/model/plan.ts';
import type { PlanFeatures } from '#core/model/plan-features.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import { anyOf, textArray, uuidArray } from '#core/platform/table.ts';
import { paidUntil } from '../subscription-fields.ts';

/** How many ended subscriptions are shown. They give no access, and a customer may have very many. */
const endedMax = 20;

export interface CustomerSubscription extends EntitlementTerms {
  readonly subscriptionId: string;
  readonly planId: string;
  readonly currentPeriodStart: Date | null;
  readonly endedAt: Date | null;
  readonly createdAt: Date;
  readonly processorAsOf: Date;
  readonly windowNumber: number;
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
  /** Only in the first row of a statement. */
  readonly readAt: Date | null;
  /** Only in the first row of a statement that reads counters. */
  readonly hasManyCounters: boolean | null;
}

interface Owner {
  readonly customerId: string;
  readonly externalId: string | null;
}

/**
 * The meter, the start of the window in microseconds since 1970 (which includes the subscription's number), and the
 * usage in it.
 */
type UsageCount = readonly [meterId: string, startMicros: number, used: number];

type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

/** The subscriptions that decide about a customer's entitlements, newest first. */
export interface EntitledCustomer extends Owner {
  readonly subscriptions: readonly CustomerSubscription[];
  /** The windows that have not ended at the time of the statement. Empty if the statement does not read them. */
  readonly counters: readonly UsageCount[];
  /** All active meters, of which there are at most 100. */
  readonly meters: readonly MeterTerms[];
  /** When the statement began, by the clock of the database. */
  readonly readAt: Date;
}

/** What a statement reads about customers that are known by one of their ids. Deleted customers are left out. */
interface Search {
  readonly by: 'id' | 'externalId';
  readonly ids: readonly string[];
}

/** Reads a customer, its subscriptions and its usage in one statement, so that all are from the same snapshot. */
export class EntitlementStore {
  /** Whether the last statement found so many counters that every plan made from then on uses their index. */
  #hasManyCounters = false;

  /**
   * Reads the usage in windows that end after `since`. A plan that was made while there were few counters reads all of
   * them, and is kept. So there is one statement for few counters, and another one, planned later, for many.
   */
  async findWithUsage(db: Queryable, search: Search, since: Date): Promise<readonly EntitledCustomer[]> {
    const name = `find_entitlements_${search.by}${this.#hasManyCounters ? '_many' : ''}`;
    const rows = await db.query<CustomerRow>(selections.withUsage[search.by], [arrayOf(search), since], name);
    this.#hasManyCounters ||= rows.some(({ hasManyCounters }) => hasManyCounters);
    return group(rows);
  }

  /** The same without usage. */
  async find(db: Queryable, search: Search): Promise<readonly EntitledCustomer[]> {
    return group(
      await db.query<CustomerRow>(selections.plain[search.by], [arrayOf(search)], `find_terms_${search.by}`),
    );
  }
}

function arrayOf({ by, ids }: Search): Buffer {
  return by === 'id' ? uuidArray(ids) : textArray(ids);
}

const ended = `subscriptions.status in ('canceled', 'incomplete_expired')`;

const columns = `subscriptions.id, subscriptions.plan_id, subscriptions.status, subscriptions.current_period_start,
  subscriptions.current_period_end, subscriptions.ended_at, subscriptions.trial_end, subscriptions.created_at,
  subscriptions.processor_as_of, subscriptions.window_number, subscriptions.add_ons, ${paidUntil} as paid_until`;

/** Few subscriptions have add-ons, and the plans are looked up only for these. */
const addOns = `case when one.add_ons <> '[]' then (
    select jsonb_agg(jsonb_build_object('planId', plans.id, 'quantity', item -> 'quantity', 'features', plans.features)
      order by plans.id)
    from jsonb_array_elements(one.add_ons) as item join till.plans on plans.id = (item ->> 'planId')::uuid) end`;

/** There are few meters. Without any, no counter is looked up. */
const counters = `select jsonb_agg(jsonb_build_array(meter_id, (extract(epoch from starts_at) * 1000000)::bigint, used))
    as counters
  from till.usage_counters
  where customer_id = customers.id and ends_at > $2 and (select exists (select from till.meters))`;

/** Sixteen pages: reading them all costs more than two lookups in an index, by PostgreSQL's estimates. */
const manyCountersBytes = 131_072;

const hasManyCounters = `case when row_number() over () = 1 then
    pg_relation_size('till.usage_counters') >= ${manyCountersBytes} end`;

const meters = `case when row_number() over () = 1 then (
    select jsonb_agg(jsonb_build_object('id', id, 'key', key, 'resets', resets, 'active', active) order by key)
    from till.meters where active) end`;

const subscriptions = `(
    select ${columns} from till.subscriptions where customer_id = customers.id and not ${ended}
    union all
    (select ${columns} from till.subscriptions where customer_id = customers.id and ${ended}
      order by created_at desc, id desc limit ${endedMax})
  )`;

const terms = `customers.id as "customerId", customers.external_id as "externalId", one.id as "subscriptionId",
    one.plan_id as "planId", one.status, one.current_period_start as "currentPeriodStart",
    one.current_period_end as "currentPeriodEnd", one.ended_at as "endedAt", one.trial_end as "trialEnd",
    one.created_at as "createdAt", one.processor_as_of as "processorAsOf",
    one.window_number as "windowNumber",
    one.paid_until as "paidUntil", plans.interval, plans.interval_count as "intervalCount", plans.features,
    ${addOns} as "addOns", ${meters} as meters,
    case when row_number() over () = 1 then statement_timestamp() end as "readAt"`;

const tables = {
  plain: `select ${terms} from till.customers`,
  withUsage: `select ${terms}, usage.counters, ${hasManyCounters} as "hasManyCounters"
    from till.customers cross join lateral (${counters}) as usage`,
};

const conditions = {
  id: `where customers.id = ${anyOf('$1', 'uuid')}`,
  externalId: `join till.external_ids
      on external_ids.customer_id = customers.id and external_ids.external_id = customers.external_id
    where external_ids.external_id = ${anyOf('$1', 'text')}`,
};

function select(from: string, condition: string): string {
  return `${from}
    left join lateral ${subscriptions} one on true
    left join till.plans on plans.id = one.plan_id
    ${condition} and customers.deleted_at is null order by customers.id, one.created_at desc, one.id desc`;
}

function selectBoth(from: string): Readonly<Record<Search['by'], string>> {
  return { id: select(from, conditions.id), externalId: select(from, conditions.externalId) };
}

const selections = { plain: selectBoth(tables.plain), withUsage: selectBoth(tables.withUsage) };

function group(rows: readonly CustomerRow[]): readonly EntitledCustomer[] {
  const meters = rows.find((row) => row.meters !== null)?.meters ?? [];
  const readAt = rows.find((row) => row.readAt !== null)?.readAt ?? new Date(0);
  const customers = new Map<
    string,
    Omit<EntitledCustomer, 'subscriptions'> & { subscriptions: CustomerSubscription[] }
  >();
  for (const row of rows) {
    const { customerId, externalId, counters } = row;
    let customer = customers.get(customerId);
    if (customer === undefined) {
      customer = { customerId, externalId, counters: counters ?? [], meters, readAt, subscriptions: [] };
      customers.set(customerId, customer);
    }
    // The outer join returns one row with nulls for a customer without subscriptions.
    if (row.subscriptionId !== null) customer.subscriptions.push(row as CustomerSubscription);
  }
  return [...customers.values()];
}
