-- Events after a failover or a restore that lost the newest commits: no position is used again, and the ids of lost events
-- are still known to be genuine.
set local lock_timeout = '5s';

-- A random number that changes when a process finds that a position went back although nothing else showed it.
create sequence till.history_break minvalue 0 start 0;

-- Identifies what the server has done since it started, on the files that it has now. It changes with every event after
-- which commits may be missing: a failover leads to a server that started at another time, a copy of the files needs a start,
-- and a dump makes new files. It also changes with a plain restart, which does no harm. Unlike the timeline, a standby
-- and every role can ask for it. At most 2^53, so that every client can hold it.
create function till.history() returns bigint language sql stable security definer set search_path = '' as $$
  select pg_catalog.hashtextextended(pg_catalog.concat_ws(' ',
    extract(epoch from pg_catalog.pg_postmaster_start_time()),
    pg_catalog.pg_relation_filepath('till.event_positions'), last_value), 0) & 9007199254740991
  from till.history_break;
$$;

-- A process calls it when a position went back.
create function till.break_history() returns void language sql security definer set search_path = '' as $$
  select pg_catalog.setval('till.history_break', (pg_catalog.random() * 9007199254740991)::bigint);
$$;

-- Leases are valid in the history in which they were taken. In another one, what their owner has recorded may be lost, so
-- its next record fails, and it begins again with what is there.
alter table till.recovery add column history bigint;
alter table till.event_endpoints add column history bigint;

-- The history in which positions are drawn. A sequence, because its value counts at once, for all transactions.
create sequence till.event_history minvalue 0 start 0;

-- Goes beyond every position that a lost part of the history may have used. The clock decides: 16 positions for each
-- millisecond since 2026 are more than any load draws, so a later moment is always beyond an earlier one, whatever backups and
-- servers are between them. If the sequence is ahead of the clock, as after two failovers in a short time, it goes on by far
-- more than a failover can lose, and by a different number each time.
create function till.skip_lost_positions() returns void
language plpgsql security definer set search_path = '' as $$
declare
  skip_lock constant bigint := 1953264496; -- "tlsp" in ASCII
begin
  -- Not a lock of the transaction: others would wait for its end, and it may wait for their rows.
  perform pg_catalog.pg_advisory_lock(skip_lock);
  begin
    if (select last_value from till.event_history) <> till.history() then
      perform pg_catalog.setval('till.event_positions', greatest(
        ((extract(epoch from pg_catalog.clock_timestamp()) - 1767225600) * 16000)::bigint,
        last_value + 16777216 + (pg_catalog.random() * 16777216)::bigint)) from till.event_positions;
      -- Last, so that no position is drawn in this history before.
      perform pg_catalog.setval('till.event_history', till.history());
    end if;
  exception when query_canceled or others then
    perform pg_catalog.pg_advisory_unlock(skip_lock);
    raise;
  end;
  perform pg_catalog.pg_advisory_unlock(skip_lock);
end $$;

-- As before, and the first events of a history skip what may be lost.
create or replace function till.append_events(new_events json) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if (select last_value from till.event_history) <> till.history() then
    perform till.skip_lost_positions();
  end if;
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

-- As before, and a standby refuses: it does not know the locks of the primary.
create or replace function till.event_horizon() returns bigint
language plpgsql security definer set search_path = '' as $$
declare
  drawn bigint;
  held bigint;
begin
  if pg_catalog.pg_is_in_recovery() then
    raise exception 'a standby does not know the horizon of events' using errcode = 'read_only_sql_transaction';
  end if;
  select last_value into drawn from till.event_positions;
  select min(((classid::bigint & 65535) << 32) | objid::bigint) into held
  from pg_catalog.pg_locks
  where locktype = 'advisory' and objsubid = 1 and classid::bigint >> 16 = 29798
    and database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database());
  return least(drawn, held);
end $$;

-- The checksum in the id of an event shows that Till made the id, even if the event is lost. The seed makes it differ
-- between installations.
create table till.event_seed (
  id boolean primary key default true check (id),
  seed uuid not null default gen_random_uuid()
);
insert into till.event_seed default values;

-- 48 bits. No search path is set, so that statements can inline it.
create function till.event_checksum(seed uuid, place bigint, created_at_ms bigint) returns bigint
language sql immutable as $$
  select ('x' || pg_catalog.left(pg_catalog.md5(seed::text || ' ' || place::text || ' ' || created_at_ms::text), 12))
    ::bit(48)::bigint;
$$;

revoke execute on function till.history, till.break_history, till.skip_lost_positions, till.event_checksum from public;
