import type { Queryable } from '../platform/postgres.ts';

/** All SQL of the recovery: how far it has come, and which rows are due for a look. */
export class RecoveryStore {
  /** Takes the lease for this long; undefined if another run holds it. */
  async lease(
    db: Queryable,
    owner: number,
    leaseMs: number,
  ): Promise<{ readonly readUntil: Date | null; readonly databaseNow: Date } | undefined> {
    const rows = await db.query<{ read_until: Date | null; now: Date }>(
      `update till.recovery set owner = $1, leased_until = now() + make_interval(secs => $2)
       where name = 'events' and leased_until <= now() returning read_until, now()`,
      [owner, leaseMs / 1_000],
    );
    return rows[0] && { readUntil: rows[0].read_until, databaseNow: rows[0].now };
  }

  /** False if the lease ran out and another run has it. */
  async renew(db: Queryable, owner: number, leaseMs: number): Promise<boolean> {
    const rows = await db.query(
      `update till.recovery set leased_until = now() + make_interval(secs => $2)
       where name = 'events' and owner = $1 returning 1 as renewed`,
      [owner, leaseMs / 1_000],
    );
    return rows.length > 0;
  }

  /** Gives the lease back; `readUntil` moves only after a run that succeeded. */
  async release(db: Queryable, owner: number, readUntil: Date | null): Promise<void> {
    await db.query(
      `update till.recovery set owner = null, leased_until = now(), read_until = coalesce($2, read_until)
       where name = 'events' and owner = $1`,
      [owner, readUntil],
    );
  }

  /**
   * Payments that are not final, at growing distances (each as long as all before it) up to seven days after their
   * making.
   */
  listStalePayments(db: Queryable, limit: number): Promise<readonly string[]> {
    return this.#list(
      db,
      `select processor_payment_intent_id as id from till.payments
       where intent_status not in ('succeeded', 'canceled')
         and created_at between now() - interval '7 days' and now() - interval '10 minutes'
         and coalesce(checked_at, created_at) < now() - greatest(interval '10 minutes', checked_at - created_at)
       order by created_at limit $1`,
      limit,
    );
  }

  async markPaymentChecked(db: Queryable, processorPaymentIntentId: string): Promise<void> {
    await db.query('update till.payments set checked_at = now() where processor_payment_intent_id = $1', [
      processorPaymentIntentId,
    ]);
  }

  /** Subscriptions whose period has been over for an hour without a word, each again at twice the distance. */
  listStaleSubscriptions(db: Queryable, limit: number): Promise<readonly string[]> {
    return this.#list(
      db,
      `select processor_subscription_id as id from till.subscriptions
       where status not in ('canceled', 'incomplete_expired')
         and current_period_end < now() - interval '1 hour'
         and (checked_at is null or checked_at < current_period_end
           or checked_at < now() - greatest(interval '1 hour', checked_at - current_period_end))
       order by current_period_end limit $1`,
      limit,
    );
  }

  async markSubscriptionChecked(db: Queryable, processorSubscriptionId: string): Promise<void> {
    await db.query('update till.subscriptions set checked_at = now() where processor_subscription_id = $1', [
      processorSubscriptionId,
    ]);
  }

  async #list(db: Queryable, sql: string, limit: number): Promise<readonly string[]> {
    const rows = await db.query<{ id: string }>(sql, [limit]);
    return rows.map(({ id }) => id);
  }
}
