-- Events for applications: every change of what the API shows, in an order that readers can follow.
set local lock_timeout = '5s';

-- An event is inserted in the transaction of the change that it tells of. `position` is its place in the feed. `data` is
-- the object after the change, and `previous` the old values of what changed, both as the API shows them. They are text to
-- PostgreSQL, so `json` and not `jsonb`, which would cost parsing on each insert.
create table till.events (
  position bigint not null,
  created_at timestamptz not null,
  type text not null,
  object_type text not null,
  object_id uuid not null,
  customer_id uuid,
  data json not null,
  previous json not null,
  cause json not null,
  primary key (position, created_at)
) partition by range (created_at);
create index on till.events (object_id, position);
create index on till.events (customer_id, position) where customer_id is not null;
create table till.events_other partition of till.events default;

-- What the newest event of each object shows, so that the next change knows what differs, also if that event is no longer
-- kept. `changes_at` is when the object changes without being written: a period of grace ends.
create table till.event_objects (
  object_id uuid primary key,
  object_type text not null,
  data json not null,
  changes_at timestamptz
) with (fillfactor = 80);
create index on till.event_objects (changes_at) where changes_at is not null;

-- The types of objects that existed before events did, as far as they are not recorded in till.event_objects yet, and the
-- last one that is. A background task records the rest, and deletes the row at the end.
create table till.event_baselines (
  object_type text primary key,
  last_id uuid
);
insert into till.event_baselines (object_type)
values ('customer'), ('plan'), ('payment'), ('refund'), ('subscription'), ('invoice');

-- Starts below the first position, so that every position is greater than a value read before it was drawn.
create sequence till.event_positions minvalue 0 start 0;
select nextval('till.event_positions');

-- The number under which a transaction that inserts events holds an advisory lock: "tf" in ASCII, and below it the last
-- position that was drawn before.
create function till.event_lock(drawn bigint) returns bigint language sql immutable set search_path = '' as $$
  select (29798::bigint << 48) | drawn;
$$;

-- Inserts events, and records what they show of their objects. Positions are drawn before the commit, so that a slower
-- transaction can commit a lower position later. So it first takes an advisory lock, which says that it may still commit
-- positions above the last one drawn so far, and which PostgreSQL releases after the commit is visible.
create function till.append_events(new_events json) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform pg_catalog.pg_advisory_xact_lock_shared(till.event_lock(last_value)) from till.event_positions;
  with v as materialized (
    select * from pg_catalog.json_to_recordset(new_events) as v (type text, "objectType" text, "objectId" uuid,
      "customerId" uuid, data json, previous json, cause json, "changesAt" timestamptz)
  ), appended as (
    insert into till.events (position, created_at, type, object_type, object_id, customer_id, data, previous, cause)
    select pg_catalog.nextval('till.event_positions'),
      pg_catalog.date_trunc('milliseconds', pg_catalog.clock_timestamp()),
      v.type, v."objectType", v."objectId", v."customerId", v.data, v.previous, v.cause
    from v
  )
  insert into till.event_objects (object_id, object_type, data, changes_at)
  select v."objectId", v."objectType", v.data, v."changesAt" from v
  order by v."objectId"
  on conflict (object_id) do update set data = excluded.data, changes_at = excluded.changes_at;
end $$;

-- No transaction will commit an event at this position or below it, except those whose events are visible to statements that
-- begin after this one. First what was drawn, then the locks: a transaction whose lock is not seen here draws later, and
-- so above. Transactions that insert no events hold nothing back.
create function till.event_horizon() returns bigint
language plpgsql security definer set search_path = '' as $$
declare
  drawn bigint;
  held bigint;
begin
  select last_value into drawn from till.event_positions;
  select min(((classid::bigint & 65535) << 32) | objid::bigint) into held
  from pg_catalog.pg_locks
  where locktype = 'advisory' and objsubid = 1 and classid::bigint >> 16 = 29798
    and database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database());
  return least(drawn, held);
end $$;

-- One process at a time changes the weeks of events ("tlew" in ASCII).
create function till.lock_event_weeks() returns void language sql security definer set search_path = '' as $$
  select pg_catalog.pg_advisory_xact_lock(1953261943);
$$;

-- Makes the weeks between two times that are missing, as till.make_webhook_weeks() does for the inbox: a table that is
-- attached leaves the others open for inserts, and the wait for the lock on the default partition is short.
create function till.make_event_weeks(from_time timestamptz, to_time timestamptz) returns void
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  week timestamptz := date_trunc('week', from_time at time zone 'utc') at time zone 'utc';
  name text;
begin
  while week <= to_time loop
    name := 'events_' || to_char(week at time zone 'utc', 'YYYYMMDD');
    if to_regclass('till.' || name) is null then
      perform till.lock_event_weeks();
      -- Another process may have made it by now.
      if to_regclass('till.' || name) is null
        and not exists (select from till.events_other where created_at >= week and created_at < week + interval '7 days')
      then
        execute format('create table till.%I (like till.events including all)', name);
        execute format('alter table till.events attach partition till.%I for values from (%L) to (%L)',
          name, week, week + interval '7 days');
      end if;
    end if;
    week := week + interval '7 days';
  end loop;
end $$;

-- Drops a week. Readers wait for milliseconds, and rather than wait longer for its lock it fails with lock_not_available.
create function till.drop_event_week(week text) returns void
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
begin
  if week !~ '^events_[0-9]{8}$' then
    raise exception '% is not a week of events', week;
  end if;
  perform till.lock_event_weeks();
  -- Another process may have dropped it by now.
  if to_regclass('till.' || week) is not null then
    execute format('drop table till.%I', week);
  end if;
end $$;

select till.make_event_weeks(now() - interval '1 week', now() + interval '4 weeks');

revoke execute on function till.append_events, till.event_horizon, till.lock_event_weeks, till.make_event_weeks,
  till.drop_event_week from public;
