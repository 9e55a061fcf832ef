-- Comparisons with the processor that were started through the API, so that every process can show how far one is.
set local lock_timeout = '5s';

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
  -- The number of the owner lock of the process that runs it: when the process is gone, so is the run.
  owner_lock integer not null,
  started_at timestamptz not null,
  ended_at timestamptz,
  check ((status = 'running') = (ended_at is null))
);
-- One at a time: two would read the same objects from the processor, and share its rate limit.
create unique index resyncs_running on till.resyncs ((true)) where status = 'running';
create index on till.resyncs (started_at, id);
