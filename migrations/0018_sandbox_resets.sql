-- Resets of the embedded sandbox, together with the rows that mirror its objects.
set local lock_timeout = '5s';

-- The reset in progress, and what the last one left. Stored, so that every process pauses, and so that another process
-- finishes a reset whose process died.
create table till.sandbox_resets (
  -- At most one row.
  is_only_row boolean primary key default true check (is_only_row),
  -- 'pausing': all processes finish what they have begun, and begin nothing. 'resetting': all of them have paused, so
  -- the sandbox and the rows are emptied, and the reset can no longer be called off.
  phase text not null default 'none' check (phase in ('none', 'pausing', 'resetting')),
  -- Counts the resets. `finished` is the number of the last one that was not called off.
  number bigint not null default 0,
  finished bigint not null default 0,
  -- The process that resets: the number of its owner lock. Null if it failed, so that any process may go on.
  owner integer,
  -- When the sandbox was last reset before the rows were written, as the sandbox says. 0: never. Null if it was not
  -- asked yet. If the sandbox says something else, it was reset alone, and the rows mirror objects that are gone.
  rows_are_of_ms bigint,
  check (phase = 'none' or number > finished)
);
insert into till.sandbox_resets default values;

-- The processes that have paused, by the number of their owner lock, and the reset for which they did.
create table till.sandbox_pauses (
  owner integer primary key,
  number bigint not null
);

-- Locks all tables but those of the installation, its configuration, and the audit log, until the end of the
-- transaction. Returns their names. A new table belongs to them, unless it is named here. Waits only briefly for
-- others, such as a dump.
create function till.lock_tables_of_sandbox() returns text[]
language plpgsql security definer set search_path = '' set lock_timeout = '1s' as $$
declare
  kept constant text[] := array['installation', 'processor_account', 'migrations', 'api_keys', 'console_sessions',
    'console_sign_ins', 'event_endpoints', 'event_seed', 'jobs', 'recovery', 'overview_progress', 'backfills',
    'idempotency_claims', 'sandbox_resets', 'sandbox_pauses'];
  emptied text[];
begin
  select array_agg(format('till.%I', relname) order by relname) into emptied from pg_catalog.pg_class
    where relnamespace = 'till'::regnamespace and relkind = 'r' and relname <> all (kept)
      and relname !~ '^audit_log_([0-9]{8}|other)$';
  execute format('lock table till.idempotency_claims, %s in access exclusive mode', array_to_string(emptied, ', '));
  return emptied;
end $$;

-- Deletes all rows of these tables, and ends the reset. Refuses unless a reset of the sandbox asks for it. Truncates
-- only tables that have rows: each truncation writes new files. Begins a new history, so that readers and leases
-- forget what they hold.
create function till.delete_rows_of_sandbox(sandbox_reset_ms bigint) returns void
language plpgsql security definer set search_path = '' as $$
declare
  name text;
  has_rows boolean;
  filled text[] := '{}';
begin
  if not exists (select from till.sandbox_resets where phase = 'resetting')
    or not exists (select from till.processor_account where account_id = 'acct_sandbox' and not livemode)
  then
    raise exception 'only a reset of the sandbox may delete all rows';
  end if;
  foreach name in array till.lock_tables_of_sandbox() loop
    execute format('select exists (select from %s)', name) into has_rows;
    if has_rows then
      filled := filled || name;
    end if;
  end loop;
  if filled <> '{}' then
    execute format('truncate %s cascade', array_to_string(filled, ', '));
  end if;
  -- What API keys and event endpoints were created or changed with. They are kept, so a repeated request must find
  -- them.
  delete from till.idempotency_claims where operation !~ '^(api_keys|event_endpoints)\.';
  perform till.break_history();
  update till.recovery set read_until = null, listing_since = null, listing_until = null, listing_cursor = null,
    history = till.history(), lost_since = null;
  update till.overview_progress set position = till.drawn_event_position(), as_of = pg_catalog.now(),
    since = (pg_catalog.now() at time zone time_zone)::date;
  update till.sandbox_resets
    set phase = 'none', finished = number, owner = null, rows_are_of_ms = sandbox_reset_ms;
  delete from till.sandbox_pauses;
end $$;

revoke execute on function till.lock_tables_of_sandbox, till.delete_rows_of_sandbox from public;
