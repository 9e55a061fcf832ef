-- Work that reads the lists of the processor: recovery of events, resyncs and imports. One process at a time does each.
set local lock_timeout = '5s';

-- How far recovery has read the processor's own list of events.
create table till.recovery (
  name text primary key,
  -- Moves only when a listing is complete.
  read_until timestamptz,
  -- The listing in progress, so that it continues after a crash.
  listing_since timestamptz,
  listing_until timestamptz,
  listing_cursor text,
  -- The run that holds the lease, and the number of the owner lock of its process, which shows whether it is alive.
  owner integer,
  owner_lock integer,
  leased_until timestamptz not null,
  -- The history in which the lease was taken; see till.history(). In another one, what its owner has recorded may be
  -- lost, so its next record fails, and it begins again with what the table says.
  history bigint
);
insert into till.recovery (name, read_until, leased_until) values ('events', null, now());

-- Comparisons with the processor that were started through the API, so that every process can show the progress.
create table till.resyncs (
  id uuid primary key,
  -- Null: of all customers.
  customer_id uuid,
  status text not null check (status in ('running', 'finished', 'failed', 'stopped')),
  -- For each kind of object how many were compared, are expected, and were corrected.
  progress jsonb not null default '[]',
  -- Objects that could not be compared; only the first ones.
  skipped jsonb not null default '[]',
  skipped_count integer not null default 0,
  -- Why it failed, for operators.
  error text,
  -- The number of the owner lock of the process that runs it. The run ends with its process.
  owner_lock integer not null,
  started_at timestamptz not null,
  ended_at timestamptz,
  check ((status = 'running') = (ended_at is null))
);
-- One at a time: two would read the same objects from the processor, and share its rate limit.
create unique index resyncs_running on till.resyncs ((true)) where status = 'running';
create index on till.resyncs (started_at, id);

-- Adoption of the objects that an account of the processor already has: the progress of each import, and what it left
-- out.
create table till.imports (
  id uuid primary key,
  -- The metadata key that external ids were taken from. Null: none were.
  external_id_from text,
  -- For each list of the processor: where to continue, and the counts so far.
  progress jsonb not null default '[]',
  -- The number of the owner lock of the process that runs it. When that process is gone, another one continues.
  owner_lock integer not null,
  started_at timestamptz not null,
  -- Null until it is finished, or replaced by one with other options.
  ended_at timestamptz
);
-- One at a time, like resyncs.
create unique index imports_running on till.imports ((true)) where ended_at is null;
create index on till.imports (started_at, id);

-- Objects that were left out, so that an import that was interrupted can still show all of them.
create table till.import_skips (
  import_id uuid not null references till.imports on delete cascade,
  kind text not null,
  object_id text not null,
  reason text not null,
  primary key (import_id, kind, object_id)
);
