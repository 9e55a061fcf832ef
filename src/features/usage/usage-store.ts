import { Failure } from '#core/errors.ts';
import { instantOfDate } from '#core/platform/instant.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { bigintArray, textArray, timestampArray, uuidArray } from '#core/platform/table.ts';

/**
 * The window of a counter, with its limit: null if there is none. The two ids, the start and the number identify it.
 */
export interface CounterWindow {
  readonly customerId: string;
  readonly meterId: string;
  readonly startsAt: Date;
  /** Microseconds after `startsAt`: windows that begin together are stored with different starts. */
  readonly windowNumber: number;
  readonly endsAt: Date;
  readonly limit: number | null;
  /** When the customer and its plans were read, by the clock of the database. */
  readonly readAt: Date;
}

/**
 * How old the read of a customer may be when its usage is inserted. A process that was stopped in between must not
 * insert events whose ids could have been replaced since: the erasure waits for ten minutes, and a statement takes at
 * most ten seconds.
 */
const readAgeMinutesMax = 5;

/** An event to insert. `window` is an index into the windows of the batch. */
export interface NewUsage {
  readonly application: string;
  readonly id: string;
  /** Microseconds since 1970. */
  readonly at: bigint;
  readonly quantity: number;
  readonly window: number;
}

/** The identity of an event. The day is a UTC day. */
export interface UsageKey {
  readonly application: string;
  readonly id: string;
  readonly day: string;
}

/** The part of a stored event that is compared with a repeated one. */
export interface StoredUsage extends UsageKey {
  readonly at: bigint;
  readonly customerId: string;
  readonly meterId: string;
  readonly quantity: number;
}

/** A counter after a batch was added to it. */
export interface ChangedCounter {
  /** An index into the windows of the batch. */
  readonly window: number;
  /** Exact: a sum may be above 2^53. */
  readonly used: bigint;
  readonly isReached: boolean;
}

interface AddedBatch {
  readonly count: number;
  /** Null if all events are new. */
  readonly inserted: readonly (readonly [application: string, id: string, day: string])[] | null;
  readonly counters: readonly ChangedCounter[];
}

/** JSON has the sums as texts, which lose no digits. */
interface AddedRow extends Omit<AddedBatch, 'counters'> {
  readonly isStale: boolean;
  readonly counters: readonly (Omit<ChangedCounter, 'used'> & { readonly used: string })[];
}

/** Which counters `add` changes, and returns. */
type AddedCounters =
  /** The counters to which a quantity was added. Returns those that have just reached their limit. */
  | 'reached'
  /** All, so that their locks are held. Returns all of them. */
  | 'all';

/**
 * The SQL that writes usage: the events and the counters. Every transaction inserts its events before it changes
 * counters, and both in one order, so that no two transactions deadlock. Counters are written by upserts alone: an
 * upsert finds its row by the primary key, while the plan of an update that was made for an empty table would read all
 * rows.
 */
export class UsageStore {
  /**
   * Inserts the events that do not exist yet, and adds them to their counters. Of several events with the same key, the
   * first one is inserted. Fails if a customer was read too long ago. Each union with a group replaces a join:
   * PostgreSQL expects so few rows from parameters and from other writes that it would compare each row with each.
   */
  async add(
    tx: Transaction,
    { events, windows }: { readonly events: readonly NewUsage[]; readonly windows: readonly CounterWindow[] },
    which: AddedCounters,
    now: Date,
  ): Promise<AddedBatch> {
    const [row] = await tx.query<AddedRow>(
      `with ${inserting},
       added as (
         select customer_id, meter_id, starts_at, max(ends_at) as ends_at, coalesce(sum(quantity), 0)::bigint as quantity
         from (
           select customer_id, meter_id, starts_at, null::timestamptz as ends_at, quantity from inserted
           union all select customer_id, meter_id, starts_at, ends_at, null from windows
         ) as both_sides
         group by customer_id, meter_id, starts_at having count(quantity) > 0 or $12::text = 'all'
       ),
       counted as (
         insert into till.usage_counters as held (customer_id, meter_id, starts_at, ends_at, used)
         select customer_id, meter_id, starts_at, ends_at, quantity from added order by customer_id, meter_id, starts_at
         on conflict (customer_id, meter_id, starts_at)
           do update set used = held.used + excluded.used, ends_at = greatest(held.ends_at, excluded.ends_at)
         returning customer_id, meter_id, starts_at, used, is_reached
       ),
       counters as (
         select max(number) as number, max(used) as used, bool_or(is_reached) as is_reached
         from (
           select customer_id, meter_id, starts_at, used, is_reached, null::bigint as number, null::bigint as usage_limit
           from counted
           union all
           select customer_id, meter_id, starts_at, null, null, number, usage_limit from windows
         ) as both_sides
         group by customer_id, meter_id, starts_at
         having max(used) is not null
           and ($12::text = 'all' or (not bool_or(is_reached) and max(usage_limit) > 0 and max(used) >= max(usage_limit)))
       ),
       total as (select count(*)::integer as count from inserted)
       select total.count, $14::timestamptz < statement_timestamp() - interval '${readAgeMinutesMax} minutes' as "isStale",
         case when total.count < $13::integer then
           coalesce((select jsonb_agg(jsonb_build_array(application, id, day)) from inserted), '[]') end as inserted,
         coalesce((
           select jsonb_agg(jsonb_build_object('window', number - 1, 'used', used::text, 'isReached', is_reached) order by number)
           from counters
         ), '[]') as counters
       from total`,
      [
        textArray(events.map(({ application }) => application)),
        textArray(events.map(({ id }) => id)),
        timestampArray(events.map(({ at }) => at)),
        bigintArray(events.map(({ quantity }) => quantity)),
        // Arrays begin at 1.
        bigintArray(events.map(({ window }) => window + 1)),
        ...counterArrays(windows),
        bigintArray(windows.map(({ limit }) => limit ?? 0)),
        now,
        which,
        events.length,
        new Date(Math.min(...windows.map(({ readAt }) => readAt.getTime()))),
      ],
      'add_usage',
    );
    if (row === undefined) throw new Error('a batch of usage has no result');
    const { isStale, ...added } = row;
    if (isStale)
      throw new Failure('overloaded', 'The request took too long. Retry it.', { retryAfterSeconds: 1 });
    return { ...added, counters: row.counters.map((one) => ({ ...one, used: BigInt(one.used) })) };
  }

  /** Removes events that this transaction has inserted. Without a name, as `find`. */
  remove(tx: Transaction, keys: readonly UsageKey[]): void {
    tx.send(
      `delete from till.usage_events using unnest($1::text[], $2::text[], $3::text[]::date[]) as v (application, id, day)
       where usage_events.application = v.application and usage_events.id = v.id and usage_events.day = v.day
         and usage_events.day = any($4::date[])`,
      keyArrays(keys),
    );
  }

  /**
   * Without a name, so that it is planned for the days that it reads, as they are now. A plan that is kept may have
   * been made when a day was still empty, and would read all events of that day. The limit makes PostgreSQL look up
   * each key: otherwise it may join the keys with the whole index of a day.
   */
  async find(db: Queryable, keys: readonly UsageKey[]): Promise<readonly StoredUsage[]> {
    const rows = await db.query<Omit<StoredUsage, 'at'> & { readonly at: string }>(
      `select v.application, v.id, v.day::text, (extract(epoch from at) * 1000000)::bigint::text as at,
         customer_id as "customerId", meter_id as "meterId", quantity
       from unnest($1::text[], $2::text[], $3::text[]::date[]) as v (application, id, day)
       cross join lateral (
         select * from till.usage_events as stored
         where stored.application = v.application and stored.id = v.id and stored.day = v.day
           and stored.day = any($4::date[])
         limit 1
       ) as stored`,
      keyArrays(keys),
    );
    return rows.map(({ at, ...row }) => ({ ...row, at: BigInt(at) }));
  }

  /** Subtracts quantities. The transaction must have changed the counters before. */
  subtract(tx: Transaction, counters: readonly (CounterWindow & { readonly quantity: number })[]): void {
    tx.send(
      `insert into till.usage_counters as held (customer_id, meter_id, starts_at, ends_at, used)
       select * from unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::bigint[])
       on conflict (customer_id, meter_id, starts_at) do update set used = held.used - excluded.used`,
      [...counterArrays(counters), bigintArray(counters.map(({ quantity }) => quantity))],
      'subtract_usage',
    );
  }

  /** Records that the limit is reached. The transaction must have changed the counters before. */
  markReached(tx: Transaction, counters: readonly (CounterWindow & { readonly used: number })[]): void {
    tx.send(
      `insert into till.usage_counters (customer_id, meter_id, starts_at, ends_at, used)
       select * from unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::bigint[])
       on conflict (customer_id, meter_id, starts_at) do update set is_reached = true`,
      [...counterArrays(counters), bigintArray(counters.map(({ used }) => used))],
      'mark_usage_reached',
    );
  }
}

/**
 * Inserts the events of a batch that do not exist yet. An event has the number of its window, whose values it takes
 * from the arrays: a join would sort both sides.
 */
const inserting = `given as (
    select * from unnest($1::text[], $2::text[], $3::timestamptz[], $4::bigint[], $5::bigint[])
      with ordinality as v (application, id, at, quantity, number, place)
  ),
  windows as (
    select * from unnest($6::uuid[], $7::uuid[], $8::timestamptz[], $9::timestamptz[], $10::bigint[])
      with ordinality as v (customer_id, meter_id, starts_at, ends_at, usage_limit, number)
  ),
  inserted as (
    insert into till.usage_events
      (application, id, day, at, quantity, customer_id, meter_id, window_start, created_at)
    select application, id, (at at time zone 'utc')::date as day, at, quantity,
      ($6::uuid[])[number], ($7::uuid[])[number], ($8::timestamptz[])[number], $11
    from given order by application, day, id, place
    on conflict do nothing
    returning application, id, day, customer_id, meter_id, window_start as starts_at, quantity
  )`;

/**
 * The last one has each day once. It is an array of days, and not of texts: PostgreSQL converts texts only when a
 * statement runs, and would plan the lookup in every day of the table.
 */
function keyArrays(keys: readonly UsageKey[]): readonly unknown[] {
  const days = keys.map(({ day }) => day);
  return [
    textArray(keys.map(({ application }) => application)),
    textArray(keys.map(({ id }) => id)),
    textArray(days),
    [...new Set(days)],
  ];
}

function counterArrays(windows: readonly CounterWindow[]): readonly Buffer[] {
  return [
    uuidArray(windows.map(({ customerId }) => customerId)),
    uuidArray(windows.map(({ meterId }) => meterId)),
    timestampArray(windows.map((one) => instantOfDate(one.startsAt) + BigInt(one.windowNumber))),
    timestampArray(windows.map(({ endsAt }) => instantOfDate(endsAt))),
  ];
}
