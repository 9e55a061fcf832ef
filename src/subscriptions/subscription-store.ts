import type { List } from '../mirrors/list.ts';
import { byId, byText } from '../mirrors/list-filter.ts';
import { type ListPage, type ListRequest, listPage } from '../mirrors/list-page.ts';
import { MirrorStore } from '../mirrors/mirror-store.ts';
import type { Queryable } from '../platform/postgres.ts';
import { computed, defineTable, immutable, mutable } from '../platform/table.ts';
import type { Subscription } from './subscription.ts';

const subscriptionTable = defineTable<Subscription>(
  'subscriptions',
  {
    id: immutable('uuid'),
    processorSubscriptionId: immutable('text'),
    customerId: immutable('uuid'),
    planId: mutable('uuid'),
    status: mutable('text'),
    currentPeriodStart: mutable('timestamptz'),
    currentPeriodEnd: mutable('timestamptz'),
    trialEnd: mutable('timestamptz'),
    metadata: mutable('jsonb'),
    processorAsOf: mutable('timestamptz'),
    // Null in rows that an older release wrote, which stored a single time.
    processorAsOfLatest: mutable('timestamptz', 'greatest(processor_as_of, processor_as_of_latest)'),
    createdAt: immutable('timestamptz'),
    updatedAt: mutable('timestamptz'),
    revision: computed('integer'),
  },
  { insertOrder: 'processorSubscriptionId' },
);

const { columns } = subscriptionTable;

export const subscriptionList: List<Subscription> = {
  table: subscriptionTable,
  owner: 'customerId',
  filters: { customerId: byId('customer_id'), planId: byId('plan_id'), status: byText('status') },
  combined: ['planId', 'status'],
};

/** All SQL for the subscriptions. */
export class SubscriptionStore extends MirrorStore<Subscription> {
  constructor() {
    super(subscriptionTable, 'processorSubscriptionId');
  }

  listOpenOfCustomer(db: Queryable, customerId: string): Promise<readonly Subscription[]> {
    return db.query(
      `select ${columns} from till.subscriptions
       where customer_id = $1 and status not in ('canceled', 'incomplete_expired')`,
      [customerId],
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

  async markChecked(db: Queryable, key: string): Promise<void> {
    const sql = 'update till.subscriptions set checked_at = now() where processor_subscription_id = $1';
    await db.query(sql, [key]);
  }

  list(db: Queryable, request: ListRequest): Promise<ListPage<Subscription>> {
    return listPage(db, subscriptionList, request);
  }
}
