import type { ListPage, ListRequest } from '#core/model/list-request.ts';
import type { Subscription } from '#core/model/subscription.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import { anyOf, defineTable } from '#core/platform/table.ts';
import type { OwnedRows } from '#engine/mirrors/erased-store.ts';
import type { List } from '#engine/mirrors/list.ts';
import { byFacet, byFacets, byId, byText } from '#engine/mirrors/list-filter.ts';
import { listPage } from '#engine/mirrors/list-page.ts';
import { MirrorStore } from '#engine/mirrors/mirror-store.ts';
import { paidUntil, subscriptionFields } from './subscription-fields.ts';

const subscriptionTable = defineTable<Subscription>('subscriptions', subscriptionFields, {
  insertOrder: 'processorSubscriptionId',
});

const { columns, ownColumns } = subscriptionTable;

export const subscriptionList: List<Subscription> = {
  table: subscriptionTable,
  owner: 'customerId',
  filters: {
    customerId: byId('customer_id'),
    addOnPlanId: {
      ...byFacet(byId('add_on_plan_id')),
      toRowCondition: (table, id) => `exists (select from till.subscription_add_ons as links
        where links.subscription_id = ${table}.id and links.plan_id = ${id}::uuid)`,
    },
    planId: byFacet(byId('plan_id')),
    status: byFacet(byText('status')),
    // There are few plans, and most have the same currency.
    currency: byFacets(
      (currency) => `plan_id in (select plans.id from till.plans where plans.currency = ${currency})`,
    ),
  },
  facets: [
    {
      for: ['addOnPlanId'],
      from: `(select plan_id as add_on_plan_id, main_plan_id as plan_id, status, created_at, subscription_id as id
        from till.subscription_add_ons) as links`,
      columns: ['add_on_plan_id', 'plan_id', 'status'],
      isOnlyOrder: true,
    },
    { from: 'till.subscriptions', columns: ['plan_id', 'status'] },
  ],
};

export const ownedSubscriptions: OwnedRows = {
  table: subscriptionTable,
  columns: ['metadata', 'cancellation_reason'],
};

interface SubscriptionWithMethod {
  readonly processorCustomerId: string;
  readonly processorSubscriptionId: string;
  readonly defaultPaymentMethodId: string;
}

type PaidSubscription = Pick<Subscription, 'id' | 'paidUntil'>;

/** All SQL for the subscriptions. */
export class SubscriptionStore extends MirrorStore<Subscription> {
  constructor() {
    super('subscription', subscriptionTable, 'processorSubscriptionId');
  }

  /** Rows by the processor's ids, without values of other rows. */
  findOwn(db: Queryable, keys: readonly string[]): Promise<readonly Subscription[]> {
    const sql = `select ${ownColumns} from till.subscriptions
      where processor_subscription_id = ${anyOf('$1', 'text')}`;
    return db.query(sql, [keys], 'find_own_subscriptions');
  }

  /** The ids of these subscriptions, by the processor's ids. */
  findIds(db: Queryable, keys: readonly string[]): Promise<readonly { key: string; id: string }[]> {
    const sql = `select processor_subscription_id as key, id from till.subscriptions
      where processor_subscription_id = ${anyOf('$1', 'text')}`;
    return db.query(sql, [keys], 'find_subscription_ids');
  }

  /** The paid ends of subscriptions that are `past_due`. */
  findPaidUntil(db: Queryable, ids: readonly string[]): Promise<readonly PaidSubscription[]> {
    const sql = `select id, ${paidUntil} as "paidUntil" from till.subscriptions
      where id = ${anyOf('$1', 'uuid')}`;
    return db.query(sql, [ids], 'find_paid_until');
  }

  /** Ordered by customer and id, without values of other rows. */
  listByCustomer(
    db: Queryable,
    after: Pick<Subscription, 'customerId' | 'id'> | undefined,
    limit: number,
  ): Promise<readonly Subscription[]> {
    return db.query(
      `select ${ownColumns} from till.subscriptions
       where $1::uuid is null or (customer_id >= $1 and (customer_id, id) > ($1, $2))
       order by customer_id, id limit $3`,
      [after?.customerId ?? null, after?.id ?? null, limit],
    );
  }

  listOpenOfCustomer(db: Queryable, customerId: string): Promise<readonly Subscription[]> {
    return db.query(
      `select ${columns} from till.subscriptions
       where customer_id = $1 and status not in ('canceled', 'incomplete_expired')`,
      [customerId],
    );
  }

  /**
   * The plans to which the other subscriptions of a customer have or had a trial. A trigger keeps those that a
   * subscription no longer has.
   */
  async listPlansOfTrials(db: Queryable, customerId: string, exceptId: string): Promise<readonly string[]> {
    const rows = await db.query<{ planId: string }>(
      `select distinct unnest(coalesce(trial_plan_ids, array[plan_id])) as "planId" from till.subscriptions
       where customer_id = $1 and (trial_end is not null or trial_plan_ids is not null) and id <> $2`,
      [customerId, exceptId],
    );
    return rows.map(({ planId }) => planId);
  }

  /** The open subscriptions of these customers that have a payment method of their own. */
  listOpenWithMethod(
    db: Queryable,
    processorCustomerIds: readonly string[],
  ): Promise<readonly SubscriptionWithMethod[]> {
    return db.query(
      `select processor_customer_id as "processorCustomerId",
         processor_subscription_id as "processorSubscriptionId",
         default_payment_method_id as "defaultPaymentMethodId"
       from till.subscriptions join till.customers on customers.id = customer_id
       where processor_customer_id = any($1) and default_payment_method_id is not null
         and status not in ('canceled', 'incomplete_expired')`,
      [processorCustomerIds],
    );
  }

  /** Subscriptions whose period ended over an hour ago with no event, rechecked with exponential backoff. */
  async listStale(db: Queryable, limit: number): Promise<readonly string[]> {
    const rows = await db.query<{ key: string }>(
      `select processor_subscription_id as key from till.subscriptions
       where status not in ('canceled', 'incomplete_expired')
         and current_period_end < now() - interval '1 hour'
         and (checked_at is null or checked_at < current_period_end
           or checked_at < now() - greatest(interval '1 hour', checked_at - current_period_end))
       order by current_period_end limit $1`,
      [limit],
    );
    return rows.map(({ key }) => key);
  }

  listPastDueAfter(db: Queryable, id: string | null, limit: number): Promise<readonly Subscription[]> {
    return db.query(
      `select ${columns} from till.subscriptions where status = 'past_due' and ($1::uuid is null or id > $1)
       order by id limit $2`,
      [id, limit],
    );
  }

  async markChecked(db: Queryable, key: string): Promise<void> {
    const sql = 'update till.subscriptions set checked_at = now() where processor_subscription_id = $1';
    await db.query(sql, [key]);
  }

  list(db: Queryable, request: ListRequest): Promise<ListPage<Subscription>> {
    return listPage(db, subscriptionList, request);
  }
}

interface GroupReservation {
  readonly customerId: string;
  /** The name of a group, or that of a plan that is a group of its own. */
  readonly groupName: string;
  /** The subscription that is about to have a plan of the group. */
  readonly subscriptionId: string;
  readonly claimId: string;
}

interface Reserved {
  /** The claim that has the reservation. */
  readonly claimId: string;
  /** Whether the reservation did not exist before. */
  readonly isNew: boolean;
  readonly newHistory: number | null;
}

/**
 * The current history, if recovery has not passed in it: commits may be lost (decision 0009). Otherwise null. It is
 * part of the statements that every request for a group makes anyway.
 */
const newHistory = `(select till.history() from till.recovery where history <> till.history()) as "newHistory"`;

/**
 * All SQL for the reservations of groups. The primary key decides which of several concurrent requests gets a group.
 */
export class GroupReservationStore {
  /**
   * Reserves the group for a customer, unless a claim on another subscription has reserved it. Claims on one
   * subscription run one after the other, so another claim on the same subscription is abandoned.
   */
  async reserve(tx: Queryable, reservation: GroupReservation): Promise<Reserved> {
    const { customerId, groupName, subscriptionId, claimId } = reservation;
    const [reserved] = await tx.query<Reserved>(
      // Also locks the row of another claim, so that it is still there.
      `insert into till.group_reservations as held (customer_id, group_name, subscription_id, claim_id)
       values ($1, $2, $3, $4)
       on conflict (customer_id, group_name) do update set claim_id =
         case when held.subscription_id = excluded.subscription_id then excluded.claim_id else held.claim_id end
       returning claim_id as "claimId", held.xmax = 0 as "isNew", ${newHistory}`,
      [customerId, groupName, subscriptionId, claimId],
    );
    if (reserved === undefined) throw new Error('the reservation of a group is gone');
    return reserved;
  }

  /** The subscription for which a claim holds a group. Undefined if it holds none. */
  async findSubscription(db: Queryable, claimId: string): Promise<string | undefined> {
    const [row] = await db.query<{ subscriptionId: string }>(
      'select subscription_id as "subscriptionId" from till.group_reservations where claim_id = $1 limit 1',
      [claimId],
    );
    return row?.subscriptionId;
  }

  /** The groups that a claim holds. */
  listGroups(
    db: Queryable,
    claimId: string,
  ): Promise<readonly Pick<GroupReservation & Reserved, 'groupName' | 'newHistory'>[]> {
    const sql = `select group_name as "groupName", ${newHistory} from till.group_reservations where claim_id = $1`;
    return db.query(sql, [claimId]);
  }

  async endReservation(tx: Queryable, claimId: string): Promise<void> {
    await tx.query('delete from till.group_reservations where claim_id = $1', [claimId], 'end_group');
  }
}
