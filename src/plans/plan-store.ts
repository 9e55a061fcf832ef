import { MirrorStore } from '../mirrors/mirror-store.ts';
import type { Plan } from '../model/plan.ts';
import type { Queryable } from '../platform/postgres.ts';
import { computed, defineTable, immutable, mutable } from '../platform/table.ts';

const planTable = defineTable<Plan>('plans', {
  id: immutable('uuid'),
  processorProductId: immutable('text'),
  processorPriceId: immutable('text'),
  name: mutable('text'),
  metadata: mutable('jsonb'),
  amount: immutable('bigint'),
  currency: immutable('text'),
  interval: immutable('text'),
  intervalCount: immutable('integer'),
  features: mutable('jsonb'),
  groupName: mutable('text'),
  productActive: mutable('boolean'),
  priceActive: mutable('boolean'),
  active: computed('boolean'),
  productAsOf: mutable('timestamptz'),
  productAsOfLatest: mutable('timestamptz'),
  priceAsOf: mutable('timestamptz'),
  priceAsOfLatest: mutable('timestamptz'),
  createdAt: immutable('timestamptz'),
  updatedAt: mutable('timestamptz'),
  revision: computed('integer'),
});

const { columns } = planTable;

/** All SQL for the plans. */
export class PlanStore extends MirrorStore<Plan> {
  constructor() {
    super(planTable, 'processorPriceId');
  }

  findByProductIds(db: Queryable, ids: readonly string[]): Promise<readonly Plan[]> {
    return db.query(`select ${columns} from till.plans where processor_product_id = any($1)`, [ids]);
  }

  /** Locks in the order of the ids, so that two transactions that lock several rows never deadlock. */
  async lock(tx: Queryable, productIds: readonly string[], priceIds: readonly string[]): Promise<void> {
    await tx.query(
      `select 1 from till.plans where processor_product_id = any($1) or processor_price_id = any($2)
       order by id for no key update`,
      [productIds, priceIds],
    );
  }

  lockByProductIds(tx: Queryable, ids: readonly string[]): Promise<readonly Plan[]> {
    return tx.query(
      `select ${columns} from till.plans where processor_product_id = any($1) order by id for no key update`,
      [ids],
    );
  }

  /** Newest first. There are few plans, so the list has no pages. */
  list(db: Queryable, activeOnly: boolean): Promise<readonly Plan[]> {
    return db.query(
      `select ${columns} from till.plans where active or not $1 order by created_at desc, id desc`,
      [activeOnly],
    );
  }
}
