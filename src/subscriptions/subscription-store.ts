import { listPage, ofCustomer, type Page, type PageRequest } from '../mirrors/list-page.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import { recordSet } from '../platform/record-set.ts';
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
    processorAsOf: mutable('timestamptz'),
    // Null in rows of an older release, which knew one time.
    processorAsOfLatest: mutable('timestamptz', 'greatest(processor_as_of, processor_as_of_latest)'),
    createdAt: immutable('timestamptz'),
    updatedAt: mutable('timestamptz'),
    revision: computed('integer'),
  },
  { insertOrder: 'processorSubscriptionId' },
);

const { columns } = subscriptionTable;

/** All SQL for the subscriptions. */
export class SubscriptionStore {
  find(db: Queryable, ids: readonly string[]): Promise<readonly Subscription[]> {
    const sql = `select ${columns} from till.subscriptions where id = any($1)`;
    return db.query(sql, [ids], 'find_subscriptions');
  }

  findByProcessorIds(db: Queryable, ids: readonly string[]): Promise<readonly Subscription[]> {
    return db.query(`select ${columns} from till.subscriptions where processor_subscription_id = any($1)`, [
      ids,
    ]);
  }

  /** In the order of their ids, so that two who lock several never wait for each other in a circle. */
  lockByProcessorIds(tx: Queryable, ids: readonly string[]): Promise<readonly Subscription[]> {
    return tx.query(
      `select ${columns} from till.subscriptions where processor_subscription_id = any($1)
       order by id for no key update`,
      [ids],
      'lock_subscriptions',
    );
  }

  async insert(tx: Queryable, subscriptions: readonly Subscription[]): Promise<void> {
    if (subscriptions.length > 0) await tx.query(subscriptionTable.insert, [recordSet(subscriptions)]);
  }

  update(tx: Transaction, subscriptions: readonly Subscription[]): void {
    if (subscriptions.length > 0)
      tx.send(subscriptionTable.update, [recordSet(subscriptions)], 'update_subscriptions');
  }

  listOpenOfCustomer(db: Queryable, customerId: string): Promise<readonly Subscription[]> {
    return db.query(
      `select ${columns} from till.subscriptions
       where customer_id = $1 and status not in ('canceled', 'incomplete_expired')`,
      [customerId],
    );
  }

  list(db: Queryable, request: PageRequest, customerId: string | undefined): Promise<Page<Subscription>> {
    return listPage(db, { table: subscriptionTable, ...ofCustomer(customerId) }, request);
  }
}
