import { toAsOf } from '../mirrors/transition.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import { recordSet } from '../platform/record-set.ts';
import type { Plan, PlanInterval } from './plan.ts';

/** By name, because statements that are prepared must not change shape when a newer release adds a column. */
const columns =
  'id, processor_product_id, processor_price_id, name, amount, currency, interval, product_active, price_active, active, product_as_of, product_as_of_latest, price_as_of, price_as_of_latest, created_at, updated_at, revision';

/** All SQL for the plans. */
export class PlanStore {
  async find(db: Queryable, ids: readonly string[]): Promise<readonly Plan[]> {
    const rows = await db.query<PlanRow>(
      `select ${columns} from till.plans where id = any($1)`,
      [ids],
      'find_plans',
    );
    return rows.map(toPlan);
  }

  async findByPriceIds(db: Queryable, ids: readonly string[]): Promise<readonly Plan[]> {
    const rows = await db.query<PlanRow>(
      `select ${columns} from till.plans where processor_price_id = any($1)`,
      [ids],
      'find_plans_of_prices',
    );
    return rows.map(toPlan);
  }

  async findByProductIds(db: Queryable, ids: readonly string[]): Promise<readonly Plan[]> {
    const rows = await db.query<PlanRow>('select * from till.plans where processor_product_id = any($1)', [
      ids,
    ]);
    return rows.map(toPlan);
  }

  /** In the order of their ids, so that two who lock several never wait for each other in a circle. */
  async lock(tx: Queryable, productIds: readonly string[], priceIds: readonly string[]): Promise<void> {
    await tx.query(
      `select 1 from till.plans where processor_product_id = any($1) or processor_price_id = any($2)
       order by id for no key update`,
      [productIds, priceIds],
    );
  }

  async lockByProductIds(tx: Queryable, ids: readonly string[]): Promise<readonly Plan[]> {
    const sql = 'select * from till.plans where processor_product_id = any($1) order by id for no key update';
    return (await tx.query<PlanRow>(sql, [ids])).map(toPlan);
  }

  async lockByPriceIds(tx: Queryable, ids: readonly string[]): Promise<readonly Plan[]> {
    const sql = 'select * from till.plans where processor_price_id = any($1) order by id for no key update';
    return (await tx.query<PlanRow>(sql, [ids])).map(toPlan);
  }

  /** Newest first, all of them: plans are few, and the spec's list of them has no pages. */
  async list(db: Queryable, activeOnly: boolean): Promise<readonly Plan[]> {
    const rows = await db.query<PlanRow>(
      'select * from till.plans where active or not $1 order by created_at desc, id desc',
      [activeOnly],
    );
    return rows.map(toPlan);
  }

  /** A row that a retry finds already there stays as it is. */
  async insert(tx: Queryable, plan: Plan): Promise<void> {
    await tx.query(
      `insert into till.plans (id, processor_product_id, processor_price_id, name, amount, currency, interval,
         product_active, price_active, product_as_of, product_as_of_latest, price_as_of, price_as_of_latest, created_at,
         updated_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
       on conflict do nothing`,
      [
        plan.id,
        plan.processorProductId,
        plan.processorPriceId,
        plan.name,
        plan.amount,
        plan.currency,
        plan.interval,
        plan.productActive,
        plan.priceActive,
        plan.productAsOf.earliest,
        plan.productAsOf.latest,
        plan.priceAsOf.earliest,
        plan.priceAsOf.latest,
        plan.createdAt,
        plan.updatedAt,
      ],
    );
  }

  update(tx: Transaction, plans: readonly Plan[]): void {
    if (plans.length === 0) return;
    tx.send(
      `update till.plans set revision = revision + 1, name = v.name, product_active = v."productActive", price_active = v."priceActive",
         product_as_of = (v."productAsOf"->>'earliest')::timestamptz,
         product_as_of_latest = (v."productAsOf"->>'latest')::timestamptz, price_as_of = (v."priceAsOf"->>'earliest')::timestamptz,
         price_as_of_latest = (v."priceAsOf"->>'latest')::timestamptz, updated_at = v."updatedAt"
       from jsonb_to_recordset($1::jsonb) as v (id uuid, name text, "productActive" boolean, "priceActive" boolean,
         "productAsOf" jsonb, "priceAsOf" jsonb, "updatedAt" timestamptz)
       where plans.id = v.id`,
      [recordSet(plans)],
      'update_plans',
    );
  }
}

interface PlanRow {
  readonly id: string;
  readonly processor_product_id: string;
  readonly processor_price_id: string;
  readonly name: string;
  readonly amount: number;
  readonly currency: string;
  readonly interval: PlanInterval;
  readonly product_active: boolean;
  readonly price_active: boolean;
  readonly active: boolean;
  readonly product_as_of: Date;
  readonly product_as_of_latest: Date | null;
  readonly price_as_of: Date;
  readonly price_as_of_latest: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly revision: number;
}

function toPlan(row: PlanRow): Plan {
  return {
    id: row.id,
    processorProductId: row.processor_product_id,
    processorPriceId: row.processor_price_id,
    name: row.name,
    amount: row.amount,
    currency: row.currency,
    interval: row.interval,
    productActive: row.product_active,
    priceActive: row.price_active,
    active: row.active,
    productAsOf: toAsOf(row.product_as_of, row.product_as_of_latest),
    priceAsOf: toAsOf(row.price_as_of, row.price_as_of_latest),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    revision: row.revision,
  };
}
