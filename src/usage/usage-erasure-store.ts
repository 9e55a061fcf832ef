import type { Queryable } from '../platform/postgres.ts';

/** The SQL that removes personal data from usage events. */
export class UsageErasureStore {
  /**
   * Replaces the ids of events of a deleted customer by random ones: the application's ids may name a person. The numbers
   * stay. Returns how many were replaced.
   */
  async eraseOfCustomer(db: Queryable, customerId: string, limit: number): Promise<number> {
    const rows = await db.query(
      `with batch as (
         select application, id, day from till.usage_events
         where customer_id = $1 and left(id, 1) <> ' ' limit $2 for update
       )
       update till.usage_events as held set id = ' ' || gen_random_uuid()
       from batch where held.application = batch.application and held.id = batch.id and held.day = batch.day
       returning 1 as erased`,
      [customerId, limit],
    );
    return rows.length;
  }
}
