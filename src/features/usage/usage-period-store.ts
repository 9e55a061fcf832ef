import { type AddOnFeatures, joinAddOns } from '#core/model/entitlement.ts';
import { pastPeriodsOf, type SubscriptionChange } from '#core/model/past-periods.ts';
import type { PlanInterval } from '#core/model/plan.ts';
import type { PlanFeatures } from '#core/model/plan-features.ts';
import type { PastPeriod } from '#core/model/usage-window.ts';
import type { Queryable } from '#core/platform/postgres.ts';

type Before = SubscriptionChange['before'];
type After = SubscriptionChange['after'];

interface ChangeRow extends Omit<Before, 'terms'> {
  readonly subscriptionId: string;
  readonly at: Date;
  readonly interval: PlanInterval;
  readonly intervalCount: number;
  readonly features: PlanFeatures;
  readonly addOns: readonly AddOnFeatures[] | null;
  readonly nextStatus: After['status'];
  readonly nextStart: After['start'];
  readonly endedAt: After['endedAt'];
  readonly hasOtherTerms: boolean;
}

/** The SQL that reads how subscriptions have changed. Triggers record it. */
export class UsagePeriodStore {
  /** The earlier periods, by the ids of the subscriptions. Those that held only before `since` may be missing. */
  async find(
    db: Queryable,
    subscriptionIds: readonly string[],
    since: Date,
  ): Promise<ReadonlyMap<string, readonly PastPeriod[]>> {
    // A change ends nothing later than the last of its times.
    const rows = await db.query<ChangeRow>(
      `select history.subscription_id as "subscriptionId", history.changed_at as at, history.status,
         history.current_period_start as start, history.current_period_end as "end",
         history.grace_ends_at as "graceEndsAt", history.next_status as "nextStatus",
         history.next_period_start as "nextStart", history.next_ended_at as "endedAt",
         history.has_other_terms as "hasOtherTerms", plans.interval, plans.interval_count as "intervalCount", plans.features,
         case when history.add_ons <> '[]' then (
           select jsonb_agg(jsonb_build_object('quantity', item -> 'quantity', 'features', plans.features) order by plans.id)
           from jsonb_array_elements(history.add_ons) as item join till.plans on plans.id = (item ->> 'planId')::uuid
         ) end as "addOns"
       from till.subscription_history as history join till.plans on plans.id = history.plan_id
       where history.subscription_id = any($1)
         and greatest(history.changed_at, history.next_period_start, history.next_ended_at) > $2
       order by history.subscription_id, history.id`,
      [subscriptionIds, since],
      'find_subscription_history',
    );
    const byId = Map.groupBy(rows, ({ subscriptionId }) => subscriptionId);
    return new Map([...byId].map(([id, changes]) => [id, pastPeriodsOf(changes.map(toChange))]));
  }
}

function toChange(row: ChangeRow): SubscriptionChange {
  const { status, start, end, graceEndsAt, interval, intervalCount, features, addOns } = row;
  const terms = { interval, intervalCount, features: joinAddOns(features, addOns ?? []) };
  return {
    before: { status, start, end, graceEndsAt, terms },
    after: {
      status: row.nextStatus,
      start: row.nextStart,
      endedAt: row.endedAt,
      hasOtherTerms: row.hasOtherTerms,
    },
    at: row.at,
  };
}
