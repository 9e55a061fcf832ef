import type { Queryable } from '#core/platform/postgres.ts';
import type { ErasedFields } from '../outbox/personal-data.ts';

/** The progress of a search for a customer's events. */
interface ErasedBatch {
  readonly count: number;
  /** The position of the last event of the batch. Null if there was none. */
  readonly last: number | null;
}

/** All SQL that removes personal data from events. */
export class EventErasureStore {
  readonly #types: readonly string[];
  readonly #erased: string;

  /** What the API shows in place of personal data, by the types of the objects. */
  constructor(erased: Readonly<Record<string, ErasedFields>>) {
    this.#types = Object.keys(erased);
    this.#erased = JSON.stringify(erased);
  }

  /**
   * Removes the personal data from the next events of a deleted customer and of the objects that belong to it. Also
   * removes the fields from `previous`, which shows the difference to the event before, and that event no longer has
   * them.
   */
  async eraseOfCustomer(
    db: Queryable,
    {
      customerId,
      after,
      limit,
    }: { readonly customerId: string; readonly after: number; readonly limit: number },
  ): Promise<ErasedBatch> {
    const [batch] = await db.query<{ count: number; last: number | null }>(
      `with batch as (
         select position, created_at from till.events
         where customer_id = $1 and position > $2 and object_type = any($4)
         order by position limit $3 for update
       ), erased as (
         update till.events set data = shown.data, previous = (previous::jsonb - shown.fields)::json
         from batch cross join lateral (
           select (old.data::jsonb || ($5::jsonb -> old.object_type))::json as data,
             array(select jsonb_object_keys($5::jsonb -> old.object_type)) as fields
           from till.events old where old.position = batch.position and old.created_at = batch.created_at) as shown
         where events.position = batch.position and events.created_at = batch.created_at
           and (events.data::jsonb <> shown.data::jsonb or events.previous::jsonb ?| shown.fields)
       )
       select count(*)::integer as count, max(position) as last from batch`,
      [customerId, after, limit, this.#types, this.#erased],
    );
    return batch ?? { count: 0, last: null };
  }
}
