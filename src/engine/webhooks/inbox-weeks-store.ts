import type { Queryable } from '#core/platform/postgres.ts';
import { WeeksStore } from '#core/platform/weeks-store.ts';

/** How many failed, and how many pending, events move at most while the inbox is locked: about ten milliseconds. */
const movedWithWeekMax = 500;

/** All SQL for the weekly partitions of the inbox. A week is detached before it is dropped. */
export class InboxWeeksStore extends WeeksStore {
  constructor() {
    super({
      name: 'webhook_events',
      primaryKey: 'id, created_at',
      weeksBack: '5 weeks',
      // Moves the events that must be kept. False if there are more pending events.
      removeWeek: `till.detach_webhook_week($1, ${movedWithWeekMax})`,
      isWeekDone: () => 'true',
      isRowDone: `state in ('processed', 'ignored')`,
    });
  }

  /** Weeks that are detached from the inbox but not dropped. */
  async listDetachedWeeks(db: Queryable): Promise<readonly string[]> {
    const rows = await db.query<{ name: string }>(
      `select relname as name from pg_catalog.pg_class
       where relnamespace = 'till'::regnamespace and relkind = 'r' and not relispartition
         and relname ~ '^webhook_events_[0-9]{8}$'
       order by relname`,
    );
    return rows.map(({ name }) => name);
  }

  /** Moves failed events of a detached week into the inbox. Returns their number. */
  async moveFailed(db: Queryable, week: string, limit: number): Promise<number> {
    const [row] = await db.query<{ moved: number }>(
      `select till.move_webhook_events($1, 'failed', $2) as moved`,
      [week, limit],
    );
    return row?.moved ?? 0;
  }

  /** False if the week still contains events that must be kept. */
  async dropDetachedWeek(db: Queryable, week: string): Promise<boolean> {
    const [row] = await db.query<{ done: boolean }>('select till.drop_detached_webhook_week($1) as done', [
      week,
    ]);
    return row?.done === true;
  }
}
