import type { UsagePeriod } from '../model/usage-window.ts';
import type { Queryable } from '../platform/postgres.ts';

interface PeriodRow extends UsagePeriod {
  readonly subscriptionId: string;
}

/** The SQL that reads the earlier periods of subscriptions. A trigger writes them. */
export class UsagePeriodStore {
  /** By the ids of the subscriptions. */
  async find(
    db: Queryable,
    subscriptionIds: readonly string[],
  ): Promise<ReadonlyMap<string, readonly UsagePeriod[]>> {
    const rows = await db.query<PeriodRow>(
      `select subscription_id as "subscriptionId", starts_at as start, ends_at as "end" from till.usage_periods
       where subscription_id = any($1)`,
      [subscriptionIds],
      'find_usage_periods',
    );
    return Map.groupBy(rows, ({ subscriptionId }) => subscriptionId);
  }
}
