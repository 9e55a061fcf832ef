import type { Transaction } from '#core/platform/postgres.ts';

/** The progress of a search for a customer's usage events. */
interface ErasedBatch {
  readonly count: number;
  /** The time of the last event of the batch, to the microsecond. Null if there was none. */
  readonly last: string | null;
}

/** The SQL that removes personal data from usage events. */
export class UsageErasureStore {
  /**
   * Replaces the ids of the next events of a deleted customer by random ones: the application's ids may name a person.
   * The numbers stay. Begins at the time of the last event of the batch before, which may not have had all events of
   * that time.
   */
  async eraseOfCustomer(
    tx: Transaction,
    {
      customerId,
      from,
      limit,
    }: { readonly customerId: string; readonly from: string | null; readonly limit: number },
  ): Promise<ErasedBatch> {
    // The plan must read no more than the batch: it follows the index of the customer, and looks up each row in its
    // day. Otherwise PostgreSQL sorts all later events if it expects few, and reads all days to join the batch.
    tx.send('set local enable_sort = off');
    tx.send('set local enable_hashjoin = off');
    const [batch] = await tx.query<ErasedBatch>(
      `with batch as (
         select application, id, day, at from till.usage_events
         where customer_id = $1 and left(id, 1) <> ' '
           and at >= coalesce($2::timestamptz, '-infinity')
           and day >= (coalesce($2::timestamptz, '-infinity') at time zone 'utc')::date
         order by at limit $3 for update
       ), erased as (
         update till.usage_events as held set id = ' ' || gen_random_uuid()
         from batch where held.application = batch.application and held.id = batch.id and held.day = batch.day
       )
       select count(*)::integer as count, max(at)::text as last from batch`,
      [customerId, from, limit],
    );
    return batch ?? { count: 0, last: null };
  }
}
