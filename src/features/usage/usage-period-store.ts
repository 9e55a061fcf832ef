import { type AddOnFeatures, joinAddOns } from '#core/model/entitlement.ts';
import type { PlanInterval } from '#core/model/plan.ts';
import type { PlanFeatures } from '#core/model/plan-features.ts';
import type { PastPeriod } from '#core/model/usage-window.ts';
import type { Queryable } from '#core/platform/postgres.ts';

interface PeriodRow extends Omit<PastPeriod, 'terms'> {
  readonly subscriptionId: string;
  readonly interval: PlanInterval;
  readonly intervalCount: number;
  readonly features: PlanFeatures;
  readonly addOns: readonly AddOnFeatures[] | null;
}

/** The SQL that reads the earlier periods of subscriptions. A trigger writes them. */
export class UsagePeriodStore {
  /** Those that held after `since`, by the ids of the subscriptions, and in the order of `until`. */
  async find(
    db: Queryable,
    subscriptionIds: readonly string[],
    since: Date,
  ): Promise<ReadonlyMap<string, readonly PastPeriod[]>> {
    const rows = await db.query<PeriodRow>(
      `select past.subscription_id as "subscriptionId", past.starts_at as start, past.ends_at as "end",
         past.holds_until as until, plans.interval, plans.interval_count as "intervalCount", plans.features,
         case when past.add_ons <> '[]' then (
           select jsonb_agg(jsonb_build_object('quantity', item -> 'quantity', 'features', plans.features) order by plans.id)
           from jsonb_array_elements(past.add_ons) as item join till.plans on plans.id = (item ->> 'planId')::uuid
         ) end as "addOns"
       from till.usage_periods as past join till.plans on plans.id = past.plan_id
       where past.subscription_id = any($1) and past.holds_until > $2
       order by past.subscription_id, past.holds_until`,
      [subscriptionIds, since],
      'find_usage_periods',
    );
    return Map.groupBy(rows.map(toPeriod), ({ subscriptionId }) => subscriptionId);
  }
}

function toPeriod(row: PeriodRow): PastPeriod & { readonly subscriptionId: string } {
  const { subscriptionId, start, end, until, interval, intervalCount, features, addOns } = row;
  const terms = { interval, intervalCount, features: joinAddOns(features, addOns ?? []) };
  return { subscriptionId, start, end, until, terms };
}
