import type { Queryable } from '../../platform/postgres.ts';

/** The SQL that gives the events of demo data the times at which their changes happened. */
export class EventBackdatingStore {
  async hasEvents(db: Queryable): Promise<boolean> {
    return (await db.query('select 1 from till.events limit 1')).length > 0;
  }

  /**
   * An object shows when it changed. It can also show a change of another object, which does not change its own time: so
   * no event is older than the one before it.
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
