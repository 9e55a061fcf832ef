-- Work that reads the processor's lists: recovery of events, resyncs and imports. Each runs in one process at a time.
set local lock_timeout = '5s';

-- Which run does each of them at the moment.
create table till.jobs (
  name text primary key,
  -- The run that holds the job, and the number of the owner lock of its process, which shows whether it is alive. Null
  -- while no run holds it.
  run integer,
  owner_lock integer,
  leased_until timestamptz,
  -- The history in which the lease was taken; see till.history(). In another one, what the run has recorded may be lost,
  -- so its next write fails, and the next run begins with what the tables say.
  history bigint,
  check (num_nulls(run, owner_lock, leased_until, history) in (0, 4))
);
insert into till.jobs (name) values ('recovery'), ('resync'), ('import');

-- How far recovery has read the processor's own list of events.
create table till.recovery (
  -- At most one row.
  is_only_row boolean primary key default true check (is_only_row),
  -- Moves only when a listing is complete.
  read_until timestamptz,
  -- The listing in progress, so that it continues after a crash.
  listing_since timestamptz,
  listing_until timestamptz,
  listing_cursor text,
  -- The history of which nothing is missing; see till.history(). In another one, commits may be lost until recovery has
  -- passed: then the processor may have objects without rows. Null before the first run, when nothing can be lost.
  history bigint,
  -- Since when commits may be lost. Null if none are.
  lost_since timestamptz,
  check (history is not null or lost_since is null)
);
insert into till.recovery default values;

-- Comparisons with the processor that were started through the API. Stored so that every process can show the progress.
create table till.resyncs (
  id uuid primary key,
  -- Null: all customers.
  customer_id uuid,
  status text not null check (status in ('running', 'finished', 'failed', 'stopped')),
  -- For each kind of object: how many were compared, are expected, and were corrected.
  progress jsonb not null default '[]',
  -- The first objects that could not be compared.
  skipped jsonb not null default '[]',
  skipped_count integer not null default 0,
  -- Why it failed, for operators.
  error text,
  started_at timestamptz not null,
  ended_at timestamptz,
  check ((status = 'running') = (ended_at is null))
);
-- One at a time: two would read the same objects from the processor, and share its rate limit.
create unique index resyncs_running on till.resyncs ((true)) where status = 'running';
create index on till.resyncs (started_at, id);

-- Imports of the objects that a processor account already has: their progress, and the objects that they left out.
create table till.imports (
  id uuid primary key,
  -- The metadata key from which external ids are taken. Null: none are taken.
  external_id_from text,
  -- For each list of the processor: where to continue, and the counts so far.
  progress jsonb not null default '[]',
  started_at timestamptz not null,
  -- Null until the import is finished, or replaced by one with other options.
  ended_at timestamptz
);
-- One at a time, like resyncs.
create unique index imports_running on till.imports ((true)) where ended_at is null;
create index on till.imports (started_at, id);

-- Objects that were left out, so that a resumed import can still show all of them.
create table till.import_skips (
  import_id uuid not null references till.imports on delete cascade,
  kind text not null,
  object_id text not null,
  reason text not null,
  primary key (import_id, kind, object_id)
);
