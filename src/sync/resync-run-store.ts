import type { Queryable } from '../platform/postgres.ts';
import type { ResyncRun } from './resync-run.ts';

/** Enough to see what happened recently. */
const keptMax = 50;

const columns = `id, customer_id as "customerId", status, progress, skipped, skipped_count as "skippedCount", error,
  started_at as "startedAt", ended_at as "endedAt"`;

/** All SQL for till.resyncs. */
export class ResyncRunStore {
  /** False if another one is running. */
  async start(
    db: Queryable,
    run: { readonly id: string; readonly customerId: string | null; readonly ownerLock: number },
  ): Promise<boolean> {
    await db.query(
      `delete from till.resyncs where id in (
         select id from till.resyncs order by started_at desc, id desc offset ${keptMax - 1})`,
    );
    const rows = await db.query(
      `insert into till.resyncs (id, customer_id, status, owner_lock, started_at) values ($1, $2, 'running', $3, now())
       on conflict do nothing returning id`,
      [run.id, run.customerId, run.ownerLock],
    );
    return rows.length > 0;
  }

  /** False if it is no longer running, because another process found this one gone. */
  async report(db: Queryable, id: string, progress: ResyncRun['progress']): Promise<boolean> {
    const rows = await db.query(
      `update till.resyncs set progress = $2 where id = $1 and status = 'running' returning id`,
      [id, JSON.stringify(progress)],
    );
    return rows.length > 0;
  }

  async end(
    db: Queryable,
    id: string,
    {
      status,
      skipped,
      skippedCount,
      error,
    }: Pick<ResyncRun, 'status' | 'skipped' | 'skippedCount' | 'error'>,
  ): Promise<void> {
    await db.query(
      `update till.resyncs set status = $2, skipped = $3, skipped_count = $4, error = $5, ended_at = now()
       where id = $1 and status = 'running'`,
      [id, status, JSON.stringify(skipped), skippedCount, error],
    );
  }

  async findRunning(db: Queryable): Promise<{ readonly id: string; readonly ownerLock: number } | undefined> {
    const rows = await db.query<{ id: string; ownerLock: number }>(
      `select id, owner_lock as "ownerLock" from till.resyncs where status = 'running'`,
    );
    return rows[0];
  }

  async find(db: Queryable, id: string): Promise<ResyncRun | undefined> {
    const rows = await db.query<ResyncRun>(`select ${columns} from till.resyncs where id = $1`, [id]);
    return rows[0];
  }

  /** Newest first. */
  list(db: Queryable): Promise<readonly ResyncRun[]> {
    return db.query<ResyncRun>(
      `select ${columns} from till.resyncs order by started_at desc, id desc limit ${keptMax}`,
    );
  }
}
