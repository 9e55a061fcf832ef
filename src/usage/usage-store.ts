import { instantText } from '../platform/instant.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import { textArray } from '../platform/text-array.ts';

/** What identifies a counter: a customer, a meter and the start of a window. */
export interface CounterKey {
  readonly customerId: string;
  readonly meterId: string;
  readonly startsAt: Date;
}

/** The window of a counter, with its limit: null if there is none. */
export interface CounterWindow extends CounterKey {
  readonly endsAt: Date;
  readonly limit: number | null;
}

/** An event to insert. `window` is an index into the windows of the batch. */
export interface NewUsage {
  readonly application: string;
  readonly id: string;
  /** Microseconds since 1970. */
  readonly at: bigint;
  readonly quantity: number;
  readonly window: number;
}

/** What identifies an event: the day is a UTC day. */
export interface UsageKey {
  readonly application: string;
  readonly id: string;
  readonly day: string;
}

/** A stored event, as it is compared with a repeated one. */
export interface StoredUsage extends UsageKey {
  readonly at: bigint;
  readonly customerId: string;
  readonly meterId: string;
  readonly quantity: number;
}

/** A window whose limit is reached without an event that says so. */
export interface ReachedWindow {
  /** An index into the windows of the batch. */
  readonly window: number;
  readonly used: number;
}

export interface Counter extends CounterKey {
  readonly used: number;
  readonly isReached: boolean;
}

interface InsertedBatch {
  readonly count: number;
  /** Null if all events are new. */
  readonly inserted: readonly (readonly [application: string, id: string, day: string])[] | null;
  readonly reached: readonly ReachedWindow[];
}

/**
 * The SQL that writes usage: the events and the counters. Every transaction inserts its events before it changes counters,
 * and both in one order, so that no two transactions deadlock.
 */
export class UsageStore {
  /**
   * Inserts the events that do not exist yet, and adds them to their counters. Of several events with the same key, the
   * first one is inserted.
   */
  async add(
    tx: Transaction,
    events: readonly NewUsage[],
    windows: readonly CounterWindow[],
    now: Date,
  ): Promise<InsertedBatch> {
    const [row] = await tx.query<InsertedBatch>(
      `with ${given}, ${inserted},
       added as (
         select customer_id, meter_id, window_start, sum(quantity)::bigint as quantity from inserted group by 1, 2, 3
       ),
       counted as (
         insert into till.usage_counters as held (customer_id, meter_id, starts_at, ends_at, used)
         select added.customer_id, added.meter_id, added.window_start, windows.ends_at, added.quantity
         from added join windows on windows.customer_id = added.customer_id and windows.meter_id = added.meter_id
           and windows.starts_at = added.window_start
         order by added.customer_id, added.meter_id, added.window_start
         on conflict (customer_id, meter_id, starts_at)
           do update set used = held.used + excluded.used, ends_at = greatest(held.ends_at, excluded.ends_at)
         returning customer_id, meter_id, starts_at, used, is_reached
       ),
       total as (select count(*)::integer as count from inserted)
       select total.count,
         case when total.count < $12::integer then
           coalesce((select jsonb_agg(jsonb_build_array(application, id, day)) from inserted), '[]') end as inserted,
         coalesce((
           select jsonb_agg(jsonb_build_object('window', windows.number - 1, 'used', counted.used) order by windows.number)
           from counted join windows using (customer_id, meter_id, starts_at)
           where not counted.is_reached and windows.usage_limit > 0 and counted.used >= windows.usage_limit
         ), '[]') as reached
       from total`,
      [...eventArrays(events, windows, now), events.length],
      'add_usage',
    );
    return row ?? { count: 0, inserted: [], reached: [] };
  }

  /** Inserts events without counting them. Returns the keys of those that did not exist. */
  insert(
    tx: Transaction,
    events: readonly NewUsage[],
    windows: readonly CounterWindow[],
    now: Date,
  ): Promise<readonly UsageKey[]> {
    return tx.query(
      `with ${given}, ${inserted} select application, id, day::text from inserted`,
      eventArrays(events, windows, now),
      'insert_usage',
    );
  }

  /** Removes events that this transaction has inserted. */
  remove(tx: Transaction, keys: readonly UsageKey[]): void {
    tx.send(
      `delete from till.usage_events using unnest($1::text[], $2::text[], $3::text[]::date[]) as v (application, id, day)
       where usage_events.application = v.application and usage_events.id = v.id and usage_events.day = v.day
         and usage_events.day = any($3::text[]::date[])`,
      keyArrays(keys),
      'remove_usage',
    );
  }

  async find(db: Queryable, keys: readonly UsageKey[]): Promise<readonly StoredUsage[]> {
    const rows = await db.query<Omit<StoredUsage, 'at'> & { readonly at: string }>(
      `select application, id, day::text, (extract(epoch from at) * 1000000)::bigint::text as at,
         customer_id as "customerId", meter_id as "meterId", quantity
       from till.usage_events join unnest($1::text[], $2::text[], $3::text[]::date[]) as v (application, id, day)
         using (application, id, day)
       where usage_events.day = any($3::text[]::date[])`,
      keyArrays(keys),
      'find_usage',
    );
    return rows.map(({ at, ...row }) => ({ ...row, at: BigInt(at) }));
  }

  /** Locks the counters that exist, in the order in which every transaction changes them. */
  lockCounters(tx: Transaction, keys: readonly CounterKey[]): Promise<readonly Counter[]> {
    return tx.query(
      `select held.customer_id as "customerId", held.meter_id as "meterId", held.starts_at as "startsAt", used,
         is_reached as "isReached"
       from till.usage_counters as held
       join unnest($1::text[]::uuid[], $2::text[]::uuid[], $3::text[]::timestamptz[]) as v (customer_id, meter_id, starts_at)
         using (customer_id, meter_id, starts_at)
       order by held.customer_id, held.meter_id, held.starts_at for update of held`,
      counterArrays(keys),
      'lock_usage_counters',
    );
  }

  /**
   * Locks counters, and creates those that do not exist yet. One pass in the same order does both: a counter that is
   * created after others were locked would be out of order. The update changes nothing. It locks a counter that exists.
   */
  createCounters(tx: Transaction, windows: readonly CounterWindow[]): Promise<readonly Counter[]> {
    return tx.query(
      `insert into till.usage_counters as held (customer_id, meter_id, starts_at, ends_at, used)
       select v.*, 0 from unnest($1::text[]::uuid[], $2::text[]::uuid[], $3::text[]::timestamptz[],
         $4::text[]::timestamptz[])
         as v (customer_id, meter_id, starts_at, ends_at)
       order by 1, 2, 3
       on conflict (customer_id, meter_id, starts_at) do update set used = held.used
       returning customer_id as "customerId", meter_id as "meterId", starts_at as "startsAt", used,
         is_reached as "isReached"`,
      [...counterArrays(windows), timeArray(windows.map(({ endsAt }) => endsAt))],
      'create_usage_counters',
    );
  }

  /** The counters must be locked. */
  setCounters(tx: Transaction, counters: readonly (CounterWindow & { readonly used: number })[]): void {
    tx.send(
      `update till.usage_counters as held set used = v.used, ends_at = greatest(held.ends_at, v.ends_at)
       from unnest($1::text[]::uuid[], $2::text[]::uuid[], $3::text[]::timestamptz[],
         $4::text[]::timestamptz[], $5::bigint[])
         as v (customer_id, meter_id, starts_at, ends_at, used)
       where held.customer_id = v.customer_id and held.meter_id = v.meter_id and held.starts_at = v.starts_at`,
      [
        ...counterArrays(counters),
        timeArray(counters.map(({ endsAt }) => endsAt)),
        counters.map(({ used }) => used),
      ],
      'set_usage_counters',
    );
  }

  /** The counters must be locked. */
  markReached(tx: Transaction, keys: readonly CounterKey[]): void {
    tx.send(
      `update till.usage_counters as held set is_reached = true
       from unnest($1::text[]::uuid[], $2::text[]::uuid[], $3::text[]::timestamptz[]) as v (customer_id, meter_id, starts_at)
       where held.customer_id = v.customer_id and held.meter_id = v.meter_id and held.starts_at = v.starts_at`,
      counterArrays(keys),
    );
  }
}

const given = `given as (
    select * from unnest($1::text[], $2::text[], $3::text[]::timestamptz[], $4::bigint[], $5::integer[])
      with ordinality as v (application, id, at, quantity, window_index, place)
  ),
  windows as (
    select * from unnest($6::text[]::uuid[], $7::text[]::uuid[], $8::text[]::timestamptz[],
        $9::text[]::timestamptz[], $10::bigint[])
      with ordinality as v (customer_id, meter_id, starts_at, ends_at, usage_limit, number)
  )`;

const inserted = `inserted as (
    insert into till.usage_events
      (application, id, day, at, quantity, customer_id, meter_id, window_start, created_at)
    select application, id, (at at time zone 'utc')::date as day, at, quantity, customer_id, meter_id, starts_at, $11
    from given join windows on windows.number = given.window_index + 1
    order by application, day, id, place
    on conflict do nothing
    returning application, id, day, customer_id, meter_id, window_start, quantity
  )`;

function eventArrays(
  events: readonly NewUsage[],
  windows: readonly CounterWindow[],
  now: Date,
): readonly unknown[] {
  return [
    textArray(events.map(({ application }) => application)),
    textArray(events.map(({ id }) => id)),
    textArray(events.map(({ at }) => instantText(at))),
    events.map(({ quantity }) => quantity),
    events.map(({ window }) => window),
    ...counterArrays(windows),
    timeArray(windows.map(({ endsAt }) => endsAt)),
    windows.map(({ limit }) => limit),
    now,
  ];
}

function keyArrays(keys: readonly UsageKey[]): readonly unknown[] {
  return [
    textArray(keys.map(({ application }) => application)),
    textArray(keys.map(({ id }) => id)),
    textArray(keys.map(({ day }) => day)),
  ];
}

function counterArrays(keys: readonly CounterKey[]): readonly unknown[] {
  return [
    textArray(keys.map(({ customerId }) => customerId)),
    textArray(keys.map(({ meterId }) => meterId)),
    timeArray(keys.map(({ startsAt }) => startsAt)),
  ];
}

function timeArray(times: readonly Date[]): Buffer {
  return textArray(times.map((time) => time.toISOString()));
}
