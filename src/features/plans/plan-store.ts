import type { Plan } from '#core/model/plan.ts';
import { hasEnded, subscriptionStatuses } from '#core/model/subscription.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import { defineTable } from '#core/platform/table.ts';
import { MirrorStore } from '#engine/mirrors/mirror-store.ts';
import { planFields } from './plan-fields.ts';

const planTable = defineTable<Plan>('plans', planFields);

const { columns } = planTable;

const liveStatuses = subscriptionStatuses.filter((status) => !hasEnded(status));

/** All SQL for the plans. */
export class PlanStore extends MirrorStore<Plan> {
  constructor() {
    super('plan', planTable, 'processorPriceId');
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

  /**
   * Gives a claim the right to change `addOn`, unless another claim has it. Returns the claim that has it. Undefined if
   * there is no such plan.
   */
  async reserveAddOn(tx: Queryable, id: string, claimId: string): Promise<string | undefined> {
    const [row] = await tx.query<{ holder: string }>(
      `update till.plans set add_on_claim_id = coalesce(add_on_claim_id, $2) where id = $1
       returning add_on_claim_id as holder`,
      [id, claimId],
    );
    return row?.holder;
  }

  /** The plan whose `addOn` a claim may change. Undefined if there is none. */
  async findByAddOnClaim(db: Queryable, claimId: string): Promise<Plan | undefined> {
    const [plan] = await db.query<Plan>(`select ${columns} from till.plans where add_on_claim_id = $1`, [
      claimId,
    ]);
    return plan;
  }

  async releaseAddOn(tx: Queryable, claimId: string): Promise<void> {
    await tx.query('update till.plans set add_on_claim_id = null where add_on_claim_id = $1', [claimId]);
  }

  /**
   * Whether a live subscription has the plan as its main plan or as an add-on, now or after its pending change, or an
   * open checkout sells it.
   */
  async isInUse(db: Queryable, id: string): Promise<boolean> {
    const rows = await db.query<{ inUse: boolean }>(
      `select exists (select from till.subscriptions where plan_id = $1 and status = any($2))
         or exists (select from till.subscription_add_ons where plan_id = $1 and status = any($2))
         or exists (select from till.subscriptions where pending_change is not null and status = any($2)
           and (pending_change ->> 'planId' = $1::text or pending_change -> 'addOns' @> jsonb_build_array(
             jsonb_build_object('planId', $1::text))))
         or exists (select from till.checkouts where status = 'open' and (plan_id = $1
           or add_ons @> jsonb_build_array(jsonb_build_object('planId', $1::text)))) as "inUse"`,
      [id, liveStatuses],
    );
    return rows[0]?.inUse === true;
  }

  /**
   * Plans with the words of this text in the name, in any order, ignoring case and accents: first names that begin with
   * it, then the newest. There are few plans, so no index is needed.
   */
  searchNames(db: Queryable, text: string, limit: number): Promise<readonly Plan[]> {
    return db.query(
      `select ${columns} from till.plans where searched like all (till.word_patterns(till.sought_words($1::text)))
       order by starts_with(searched, ' ' || till.searchable($1::text)) desc, created_at desc, id desc limit $2`,
      [text, limit],
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
