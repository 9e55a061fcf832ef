import { listPage, type Page, type PageRequest } from '../mirrors/list-page.ts';
import { toAsOf } from '../mirrors/transition.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import { recordSet } from '../platform/record-set.ts';
import type { Subscription, SubscriptionStatus } from './subscription.ts';

/** By name, because statements that are prepared must not change shape when a newer release adds a column. */
const columns =
  'id, processor_subscription_id, customer_id, plan_id, status, current_period_start, current_period_end, trial_end, processor_as_of, processor_as_of_latest, created_at, updated_at, revision';

/** All SQL for the subscriptions. */
export class SubscriptionStore {
  async find(db: Queryable, ids: readonly string[]): Promise<readonly Subscription[]> {
    const rows = await db.query<SubscriptionRow>(
      `select ${columns} from till.subscriptions where id = any($1)`,
      [ids],
      'find_subscriptions',
    );
    return rows.map(toSubscription);
  }

  async findByProcessorIds(db: Queryable, ids: readonly string[]): Promise<readonly Subscription[]> {
    const rows = await db.query<SubscriptionRow>(
      'select * from till.subscriptions where processor_subscription_id = any($1)',
      [ids],
    );
    return rows.map(toSubscription);
  }

  /** In the order of their ids, so that two who lock several never wait for each other in a circle. */
  async lockByProcessorIds(tx: Queryable, ids: readonly string[]): Promise<readonly Subscription[]> {
    const rows = await tx.query<SubscriptionRow>(
      `select ${columns} from till.subscriptions where processor_subscription_id = any($1)
       order by id for no key update`,
      [ids],
      'lock_subscriptions',
    );
    return rows.map(toSubscription);
  }

  /** Rows that are there already, made by the request or by a webhook, stay as they are. */
  async insert(tx: Queryable, subscriptions: readonly Subscription[]): Promise<void> {
    if (subscriptions.length === 0) return;
    await tx.query(
      `insert into till.subscriptions (id, processor_subscription_id, customer_id, plan_id, status,
         current_period_start, current_period_end, trial_end, processor_as_of, processor_as_of_latest, created_at, updated_at)
       select id, "processorSubscriptionId", "customerId", "planId", status,
         "currentPeriodStart", "currentPeriodEnd", "trialEnd", ("processorAsOf"->>'earliest')::timestamptz,
         ("processorAsOf"->>'latest')::timestamptz, "createdAt", "updatedAt"
       from jsonb_to_recordset($1::jsonb) as v (id uuid, "processorSubscriptionId" text, "customerId" uuid,
         "planId" uuid, status text, "currentPeriodStart" timestamptz, "currentPeriodEnd" timestamptz,
         "trialEnd" timestamptz, "processorAsOf" jsonb, "createdAt" timestamptz, "updatedAt" timestamptz)
       order by "processorSubscriptionId"
       on conflict do nothing`,
      [recordSet(subscriptions)],
    );
  }

  update(tx: Transaction, subscriptions: readonly Subscription[]): void {
    if (subscriptions.length === 0) return;
    tx.send(
      `update till.subscriptions set revision = revision + 1, plan_id = v."planId", status = v.status,
         current_period_start = v."currentPeriodStart", current_period_end = v."currentPeriodEnd",
         trial_end = v."trialEnd", processor_as_of = (v."processorAsOf"->>'earliest')::timestamptz,
         processor_as_of_latest = (v."processorAsOf"->>'latest')::timestamptz, updated_at = v."updatedAt"
       from jsonb_to_recordset($1::jsonb) as v (id uuid, "planId" uuid, status text,
         "currentPeriodStart" timestamptz, "currentPeriodEnd" timestamptz, "trialEnd" timestamptz,
         "processorAsOf" jsonb, "updatedAt" timestamptz)
       where subscriptions.id = v.id`,
      [recordSet(subscriptions)],
      'update_subscriptions',
    );
  }

  async listOpenOfCustomer(db: Queryable, customerId: string): Promise<readonly Subscription[]> {
    const rows = await db.query<SubscriptionRow>(
      `select * from till.subscriptions where customer_id = $1 and status not in ('canceled', 'incomplete_expired')`,
      [customerId],
    );
    return rows.map(toSubscription);
  }

  list(db: Queryable, request: PageRequest, customerId: string | undefined): Promise<Page<Subscription>> {
    const parent = customerId === undefined ? {} : { parent: { column: 'customer_id', id: customerId } };
    return listPage(db, { table: 'subscriptions', ...parent }, request, toSubscription);
  }
}

interface SubscriptionRow {
  readonly id: string;
  readonly processor_subscription_id: string;
  readonly customer_id: string;
  readonly plan_id: string;
  readonly status: SubscriptionStatus;
  readonly current_period_start: Date | null;
  readonly current_period_end: Date | null;
  readonly trial_end: Date | null;
  readonly processor_as_of: Date;
  readonly processor_as_of_latest: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly revision: number;
}

function toSubscription(row: SubscriptionRow): Subscription {
  return {
    id: row.id,
    processorSubscriptionId: row.processor_subscription_id,
    customerId: row.customer_id,
    planId: row.plan_id,
    status: row.status,
    currentPeriodStart: row.current_period_start,
    currentPeriodEnd: row.current_period_end,
    trialEnd: row.trial_end,
    processorAsOf: toAsOf(row.processor_as_of, row.processor_as_of_latest),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    revision: row.revision,
  };
}
