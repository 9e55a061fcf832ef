import type { Queryable } from '#core/platform/postgres.ts';
import type { ResyncRun } from './resync-run.ts';

/** Enough to see what happened recently. */
const keptMax = 50;
/** An operator looks at a few of them; the log has all. */
const skippedShownMax = 100;

const columns = `id, customer_id as "customerId", status, progress, skipped, skipped_count as "skippedCount", error,
  started_at as "startedAt", ended_at as "endedAt"`;

/** All SQL for till.resyncs. */
export class ResyncRunStore {
  async start(db: Queryable, { id, customerId }: Pick<ResyncRun, 'id' | 'customerId'>): Promise<void> {
    await db.query(
      `delete from till.resyncs where id in (
         select id from till.resyncs order by started_at desc, id desc offset ${keptMax - 1})`,
    );
    await db.query(
      `insert into till.resyncs (id, customer_id, status, started_at) values ($1, $2, 'running', now())`,
      [id, customerId],
    );
  }

  async report(db: Queryable, id: string, progress: ResyncRun['progress']): Promise<void> {
    await db.query('update till.resyncs set progress = $2 where id = $1', [id, JSON.stringify(progress)]);
  }

  async end(
    db: Queryable,
    id: string,
    { status, skipped, error }: Pick<ResyncRun, 'status' | 'skipped' | 'error'>,
  ): Promise<void> {
    await db.query(
      `update till.resyncs set status = $2, skipped = $3, skipped_count = $4, error = $5, ended_at = now()
       where id = $1 and status = 'running'`,
      [id, status, JSON.stringify(skipped.slice(0, skippedShownMax)), skipped.length, error],
    );
  }

  async isAnyRunning(db: Queryable): Promise<boolean> {
    const rows = await db.query(`select id from till.resyncs where status = 'running'`);
    return rows.length > 0;
  }

  async stopRunning(db: Queryable): Promise<void> {
    await db.query(`update till.resyncs set status = 'stopped', ended_at = now() where status = 'running'`);
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
