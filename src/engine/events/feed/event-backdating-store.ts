import type { Queryable } from '#core/platform/postgres.ts';

/** The SQL that gives the events of demo data the times at which their changes happened. */
export class EventBackdatingStore {
  async hasEvents(db: Queryable): Promise<boolean> {
    return (await db.query('select 1 from till.events limit 1')).length > 0;
  }

  /**
   * Uses the time at which the object says it changed. A change of another object that it shows does not change that
   * time, so no event gets an earlier time than the one before it.
   */
  async backdate(db: Queryable): Promise<void> {
    await db.query(
      `update till.events set created_at = dated.changed_at
       from (
         select position, max((data ->> 'updatedAt')::timestamptz) over (order by position) as changed_at
         from till.events
       ) as dated
       where dated.position = events.position`,
    );
  }
}
