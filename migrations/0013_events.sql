-- Events for applications: every visible change in the API, in an order that readers can follow.
set local lock_timeout = '5s';

-- An event is inserted in the transaction of its change. `position` is its place in the feed. `data` is the object
-- after the change, and `previous` has the old values of the changed fields, both as the API shows them. PostgreSQL
-- only stores them, so they are `json`: `jsonb` would cost more parsing on each insert.
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
  -- The span that wrote the event, so that its deliveries belong to the same trace. In the form of the W3C header
  -- `traceparent`. Null if the change was not traced. No API shows it.
  traceparent text,
  primary key (position, created_at)
) partition by range (created_at);

create index on till.events (object_id, position);
create index on till.events (customer_id, position) where customer_id is not null;
create table till.events_other partition of till.events default;

-- The subscriptions whose newest event says that a grace period entitles their customer. When the period ends, the
-- subscription changes without a write.
create table till.grace_periods (
  subscription_id uuid primary key,
  ends_at timestamptz not null
);
create index on till.grace_periods (ends_at);

-- Starts below the first position, so that a new position is greater than every value that was read before.
create sequence till.event_positions minvalue 0 start 0;
select nextval('till.event_positions');

-- Histories. A failover or a restore can lose the newest commits. The positions of lost events are never used again,
-- and the ids of lost events can still be verified.

-- A random number that changes when a process sees a position go back without any other sign of a new history.
create sequence till.history_break minvalue 0 start 0;

-- Identifies the current run of the server on its current files. It changes with every incident that may lose commits:
-- after a failover another server with another start time runs, a copy of the files needs a start, and a restored dump
-- creates new files. It also changes with a normal restart, which does no harm. Unlike the timeline, it can be read on
-- a standby and by every role. At most 2^53, so that every client can represent it.
create function till.history() returns bigint language sql stable security definer set search_path = '' as $$
  select pg_catalog.hashtextextended(pg_catalog.concat_ws(' ',
    extract(epoch from pg_catalog.pg_postmaster_start_time()),
    pg_catalog.pg_relation_filepath('till.event_positions'), last_value), 0) & 9007199254740991
  from till.history_break;
$$;

-- A process calls this when it sees a position go back.
create function till.break_history() returns void language sql security definer set search_path = '' as $$
  select pg_catalog.setval('till.history_break', (pg_catalog.random() * 9007199254740991)::bigint);
$$;

-- The history in which positions are drawn. A sequence, because its value is visible to all transactions at once.
create sequence till.event_history minvalue 0 start 0;

-- Skips every position that a lost part of the history may have used. The clock decides: 16 positions for each
-- millisecond since 2026 are more than any load draws, so a later moment always gives a higher position than an earlier
-- one, regardless of backups and servers. If the sequence is ahead of the clock, as after two failovers in quick
-- succession, it skips far more than a failover can lose, and a different number each time.
create function till.skip_lost_positions() returns void
language plpgsql security definer set search_path = '' as $$
declare
  skip_lock constant bigint := 1953264496; -- "tlsp" in ASCII
begin
  -- Not a transaction lock: others would wait for the end of this transaction, which may wait for their rows.
  perform pg_catalog.pg_advisory_lock(skip_lock);
  begin
    if (select last_value from till.event_history) <> till.history() then
      perform pg_catalog.setval('till.event_positions', greatest(
        ((extract(epoch from pg_catalog.clock_timestamp()) - 1767225600) * 16000)::bigint,
        last_value + 16777216 + (pg_catalog.random() * 16777216)::bigint)) from till.event_positions;
      -- Comes last, so that no position is drawn in this history before the skip.
      perform pg_catalog.setval('till.event_history', till.history());
    end if;
  exception when query_canceled or others then
    perform pg_catalog.pg_advisory_unlock(skip_lock);
    raise;
  end;
  perform pg_catalog.pg_advisory_unlock(skip_lock);
end $$;

-- The history in which the last events were appended, as this server knows it. On a replica it shows which primary the
-- replica follows: the value is that of `till.history()` of the primary that wrote it. The role of the service may not
-- read sequences.
create function till.appended_history() returns bigint language sql stable security definer set search_path = '' as $$
  select last_value from till.event_history;
$$;

-- The checksum in the id of an event proves that Till created the id, even if the event is lost. The seed makes it
-- differ between installations.
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

-- The number of the advisory lock of a transaction that inserts events: "tf" in ASCII, followed by the last position
-- that was drawn before.
create function till.event_lock(drawn bigint) returns bigint language sql immutable set search_path = '' as $$
  select (29798::bigint << 48) | drawn;
$$;

-- Inserts events. The first events of a history skip the positions that may be lost. Positions are drawn before the
-- commit, so a slower transaction can commit a lower position later. So each transaction first takes an advisory lock,
-- which shows that it may still commit positions above the last one drawn so far. PostgreSQL releases the lock after
-- the commit is visible. Each array has one element for each event:
-- PostgreSQL parses each JSON value once, instead of a document with all of them and then each value again.
create function till.append_events(types text[], object_types text[], object_ids text[], customer_ids text[],
  data text[], previous text[], causes text[], traceparents text[]) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if (select last_value from till.event_history) <> till.history() then
    perform till.skip_lost_positions();
  end if;
  perform pg_catalog.pg_advisory_xact_lock_shared(till.event_lock(last_value)) from till.event_positions;
  insert into till.events (position, created_at, type, object_type, object_id, customer_id, data, previous, cause,
    traceparent)
  select pg_catalog.nextval('till.event_positions'),
    pg_catalog.date_trunc('milliseconds', pg_catalog.clock_timestamp()),
    v.type, v.object_type, v.object_id::uuid, v.customer_id::uuid, v.data::json, v.previous::json, v.cause::json,
    v.traceparent
  from unnest(types, object_types, object_ids, customer_ids, append_events.data, append_events.previous, causes,
    traceparents) as v (type, object_type, object_id, customer_id, data, previous, cause, traceparent);
end $$;

-- The last position that was drawn. All committed events have this position or a lower one.
create function till.drawn_event_position() returns bigint language sql security definer set search_path = '' as $$
  select last_value from till.event_positions;
$$;

-- The position up to which all committed events are visible to statements that begin after this one. No transaction
-- will commit another event at or below it. Reads the last drawn position first, then the locks: a transaction whose
-- lock is not seen here draws later, and so gets a higher position. Transactions that insert no events hold nothing
-- back. Fails on a standby, which does not know the locks of the primary.
create function till.event_horizon() returns bigint
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

-- A page of the feed with a plan that is made once for each connection. Planning over all weeks takes three times as
-- long as reading a few events. No week can be left out by its time: positions follow the order of commits, and the
-- clocks of two servers can differ. So each week is asked for its first event, which takes two pages of an index.
create function till.events_after(after_position bigint, up_to bigint, count_max bigint) returns setof till.events
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
  return query select * from till.events where position > after_position and position <= up_to
    order by position limit count_max;
end $$;

revoke execute on function till.history, till.break_history, till.skip_lost_positions, till.event_checksum,
  till.append_events, till.drawn_event_position, till.event_horizon from public;

select till.make_weeks('events', now() - interval '1 week', now() + interval '4 weeks');
