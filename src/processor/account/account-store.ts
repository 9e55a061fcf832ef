import type { Queryable } from '#core/platform/postgres.ts';
import type { ProcessorAccount } from './account.ts';

/** All SQL for the account that the database belongs to. */
export class AccountStore {
  async read(db: Queryable): Promise<ProcessorAccount | undefined> {
    const rows = await db.query<{ account_id: string | null; livemode: boolean }>(
      'select account_id, livemode from till.processor_account',
    );
    return rows[0] && { id: rows[0].account_id, livemode: rows[0].livemode };
  }

  /** Stores the account, unless one is already stored. Fills in the id of the stored one if it is unknown. */
  async remember(db: Queryable, { id, livemode }: ProcessorAccount): Promise<void> {
    await db.query(
      'insert into till.processor_account (account_id, livemode) values ($1, $2) on conflict do nothing',
      [id, livemode],
    );
    if (id === null) return;
    await db.query(
      'update till.processor_account set account_id = $1 where account_id is null and livemode = $2',
      [id, livemode],
    );
  }

  /** Replaces the stored account. */
  async replace(db: Queryable, { id, livemode }: ProcessorAccount): Promise<void> {
    await db.query(
      `insert into till.processor_account (account_id, livemode) values ($1, $2)
       on conflict (is_only_row) do update
       set account_id = excluded.account_id, livemode = excluded.livemode, remembered_at = now()`,
      [id, livemode],
    );
  }
}
