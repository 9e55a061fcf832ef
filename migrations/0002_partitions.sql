-- Tables with many rows are partitioned by the week or the day, so that the indexes that inserts use stay small, and
-- old rows are dropped as a whole. Rows outside the existing partitions go to the default partition.
set local lock_timeout = '5s';

-- The service creates and drops partitions only through functions that run as their owner. So its role does not have to
-- own any table. docs/security.md lists the grants that it needs.

-- One process at a time changes the weeks of a table ("tlwk" in ASCII).
create function till.lock_weeks(parent text) returns void language sql security definer set search_path = '' as $$
  select pg_catalog.pg_advisory_xact_lock(1953265515, pg_catalog.hashtext(parent));
$$;

-- Creates the missing weeks of a table between two times. Does not create a week whose rows are already in the default
-- partition. Creates the week first and then attaches it, so that the table stays open for inserts. Only the default
-- partition is locked. The wait for that lock is short, because every later statement waits behind it: during a backup
-- this fails with lock_not_available, and the caller retries.
create function till.make_weeks(parent text, from_time timestamptz, to_time timestamptz) returns void
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  week timestamptz := date_trunc('week', from_time at time zone 'utc') at time zone 'utc';
  name text;
  has_rows boolean;
  definition text;
begin
  if not exists (select from pg_catalog.pg_class
      where relnamespace = 'till'::regnamespace and relname = parent and relkind = 'p')
  then
    raise exception '% is not a table with weeks', parent;
  end if;
  while week <= to_time loop
    name := parent || '_' || to_char(week at time zone 'utc', 'YYYYMMDD');
    if to_regclass('till.' || name) is null then
      perform till.lock_weeks(parent);
      execute format('select exists (select from till.%I where created_at >= %L and created_at < %L)',
        parent || '_other', week, week + interval '7 days') into has_rows;
      -- Another process may have created it by now.
      if not has_rows and not exists (select from pg_catalog.pg_class
          where relnamespace = 'till'::regnamespace and relname = name)
      then
        execute format('create table till.%I (like till.%I including all)', name, parent);
        -- Attaching copies the triggers of rows, and not those of a truncate (bit 5).
        for definition in
          select replace(pg_catalog.pg_get_triggerdef(oid), ' ON till.' || parent, ' ON till.' || name)
          from pg_catalog.pg_trigger where tgrelid = ('till.' || parent)::regclass and tgtype & 32 <> 0
        loop
          execute definition;
        end loop;
        execute format('alter table till.%I attach partition till.%I for values from (%L) to (%L)',
          parent, name, week, week + interval '7 days');
      end if;
    end if;
    week := week + interval '7 days';
  end loop;
end $$;

-- Creates the missing days of a table between two days, as till.make_weeks does for weeks.
create function till.make_days(parent text, from_day date, to_day date) returns void
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  next_day date := from_day;
  name text;
  has_rows boolean;
begin
  if not exists (select from pg_catalog.pg_class
      where relnamespace = 'till'::regnamespace and relname = parent and relkind = 'p')
  then
    raise exception '% is not a table with days', parent;
  end if;
  while next_day <= to_day loop
    name := parent || '_' || to_char(next_day, 'YYYYMMDD');
    if to_regclass('till.' || name) is null then
      perform till.lock_weeks(parent);
      execute format('select exists (select from till.%I where day = %L)', parent || '_other', next_day) into has_rows;
      -- Another process may have created it by now.
      if not has_rows and not exists (select from pg_catalog.pg_class
          where relnamespace = 'till'::regnamespace and relname = name)
      then
        execute format('create table till.%I (like till.%I including all)', name, parent);
        execute format('alter table till.%I attach partition till.%I for values from (%L) to (%L)',
          parent, name, next_day, next_day + 1);
      end if;
    end if;
    next_day := next_day + 1;
  end loop;
end $$;

revoke execute on function till.lock_weeks, till.make_weeks, till.make_days from public;
