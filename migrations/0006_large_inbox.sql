-- The inbox with a hundred million events: weeks are made and dropped without making anyone wait, and its list is fast.
set local lock_timeout = '5s';

-- The listing of events that recovery has begun, so that it continues after a crash. `read_until` moves only when the
-- listing is complete. `owner_lock` is the advisory lock that shows whether the process that holds the lease is alive.
alter table till.recovery
  add column owner_lock integer,
  add column listing_since timestamptz,
  add column listing_until timestamptz,
  add column listing_cursor text;

-- When the events of a deleted customer were first searched, by the database's clock. A second search follows later.
alter table till.customers add column first_erased_at timestamptz;

-- For the list of events by state and by type. The index by type leaves out pending events, so that an event enters it only
-- once, when it is settled; pending events of one type are found by their state.
create index webhook_events_state_idx on only till.webhook_events (state, created_at, id);
create index webhook_events_type_idx on only till.webhook_events (type, state, created_at, id) where state <> 'pending';

-- Building an index blocks writes to its table, about a second for every hundred thousand events. Here only small partitions
-- get theirs, new weeks have them from the start, and src/platform/partitioned-indexes.ts builds the rest concurrently.
do $$
declare
  small_bytes constant bigint := 8 * 1024 * 1024;
  part text;
begin
  for part in
    select relname from pg_catalog.pg_class join pg_catalog.pg_inherits on inhrelid = pg_class.oid
    where inhparent = 'till.webhook_events'::regclass and pg_catalog.pg_relation_size(pg_class.oid) < small_bytes
  loop
    execute format('create index %I on till.%I (state, created_at, id)',
      part || '_webhook_events_state_idx', part);
    execute format('create index %I on till.%I (type, state, created_at, id) where state <> ''pending''',
      part || '_webhook_events_type_idx', part);
    execute format('alter index till.webhook_events_state_idx attach partition till.%I',
      part || '_webhook_events_state_idx');
    execute format('alter index till.webhook_events_type_idx attach partition till.%I',
      part || '_webhook_events_type_idx');
  end loop;
end $$;

-- Makes the weeks between two times that are missing. A week of which the default partition already holds events stays with
-- it. A table that is created and then attached leaves the inbox open for inserts; only the default partition is locked,
-- and the wait for it is short, because everything that comes after it waits too: behind a backup, this fails with
-- lock_not_available, and the caller retries.
create or replace function till.make_webhook_weeks(from_time timestamptz, to_time timestamptz) returns void
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  week timestamptz := date_trunc('week', from_time at time zone 'utc') at time zone 'utc';
  name text;
begin
  while week <= to_time loop
    name := 'webhook_events_' || to_char(week at time zone 'utc', 'YYYYMMDD');
    if to_regclass('till.' || name) is null then
      perform till.lock_webhook_weeks();
      -- Another process may have made it by now.
      if not exists (select from pg_catalog.pg_class
          where relnamespace = 'till'::regnamespace and relname = name)
        and not exists (select from till.webhook_events_other
          where created_at >= week and created_at < week + interval '7 days')
      then
        execute format('create table till.%I (like till.webhook_events including all)', name);
        execute format('alter table till.webhook_events attach partition till.%I for values from (%L) to (%L)',
          name, week, week + interval '7 days');
      end if;
    end if;
    week := week + interval '7 days';
  end loop;
end $$;

-- One process at a time changes the weeks ("tlwk" in ASCII).
create function till.lock_webhook_weeks() returns void language sql security definer set search_path = '' as $$
  select pg_catalog.pg_advisory_xact_lock(1953265515);
$$;

-- Whether this table is a week that is a part of the inbox; null if there is no such table.
create function till.is_webhook_week_attached(week text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  if week !~ '^webhook_events_[0-9]{8}$' then
    raise exception '% is not a week of webhook events', week;
  end if;
  return (select relispartition from pg_catalog.pg_class
    where relnamespace = 'till'::regnamespace and relname = week);
end $$;

-- Moves up to so many events of a detached week, in this state, to the default partition. By index: a week is large, and few
-- of its events are kept. While a week is detached, a search for a deleted customer does not see its events, so
-- those that hold personal data are searched again.
create function till.move_webhook_events(week text, moved_state text, moved_max integer) returns integer
language plpgsql security definer set search_path = '' set enable_seqscan = off as $$
declare
  names text;
  expressions text;
  moved integer;
begin
  if till.is_webhook_week_attached(week) is distinct from false then
    raise exception '% is not a detached week', week;
  end if;
  select string_agg(quote_ident(attname), ', ' order by attnum),
    string_agg(case attname
      when 'personal_data' then 'case personal_data when ''customer'' then ''unchecked'' else personal_data end'
      else quote_ident(attname) end, ', ' order by attnum)
  into names, expressions
  from pg_catalog.pg_attribute
  where attrelid = 'till.webhook_events'::regclass and attnum > 0 and not attisdropped;
  execute format(
    'with moved as (
       delete from till.%1$I where ctid = any (array(
         select ctid from till.%1$I where state = %2$L limit %3$s for update skip locked))
       returning *),
     kept as (insert into till.webhook_events (%4$s) select %5$s from moved on conflict do nothing)
     select count(*) from moved', week, moved_state, moved_max, names, expressions) into moved;
  return moved;
end $$;

-- Takes a week out of the inbox. The exclusive lock on the inbox is held for milliseconds: nothing is scanned, and at most
-- so many pending events, and as many failed ones, move along. Fails with lock_not_available rather than wait.
-- Returns false if more events are pending.
create function till.detach_webhook_week(week text, moved_max integer) returns boolean
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' set enable_seqscan = off as $$
declare
  pending integer;
begin
  perform till.lock_webhook_weeks();
  -- Another process may have detached it by now.
  if till.is_webhook_week_attached(week) is distinct from true then
    return true;
  end if;
  execute format('select count(*) from (select from till.%I where state = ''pending'' limit %s) as found',
    week, moved_max + 1) into pending;
  if pending > moved_max then
    return false;
  end if;
  execute format('alter table till.webhook_events detach partition till.%I', week);
  while till.move_webhook_events(week, 'pending', moved_max) > 0 loop
  end loop;
  perform till.move_webhook_events(week, 'failed', moved_max);
  return true;
end $$;

-- Drops a detached week, unless it still holds an event that must be kept.
create function till.drop_detached_webhook_week(week text) returns boolean
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' set enable_seqscan = off as $$
declare
  is_needed boolean;
begin
  perform till.lock_webhook_weeks();
  if till.is_webhook_week_attached(week) is null then
    return true;
  end if;
  if till.is_webhook_week_attached(week) then
    raise exception '% is not a detached week', week;
  end if;
  execute format('select exists (select from till.%1$I where state = ''failed'')
    or exists (select from till.%1$I where state = ''pending'')', week) into is_needed;
  if is_needed then
    return false;
  end if;
  execute format('drop table till.%I', week);
  return true;
end $$;

revoke execute on function till.lock_webhook_weeks, till.is_webhook_week_attached, till.move_webhook_events,
  till.detach_webhook_week, till.drop_detached_webhook_week from public;
