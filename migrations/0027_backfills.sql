-- Backfills: after an upgrade, rows lack what only the new release mirrors. One process then reads the objects again.
-- See docs/decisions/0071-backfills.md.
set local lock_timeout = '5s';

insert into till.jobs (name) values ('backfill');

create table till.backfills (
  -- The processor lists only open checkouts, so their rows cannot be completed in this way.
  resource text primary key
    check (resource in ('customer', 'plan', 'payment', 'refund', 'dispute', 'subscription', 'invoice')),
  -- The number of the migration that asked for it. A release without that migration can neither do the work nor keep it
  -- done: what it writes lacks the new values.
  schema integer not null,
  -- Counts how often it began again: when another migration asks for it, and when a process of an older release starts.
  -- A run that began before that can no longer record anything.
  round integer not null default 1,
  -- Where to continue in the processor's list. Null at its beginning.
  cursor text,
  -- The objects that were compared, the rows that changed, and the objects that could not be compared.
  compared bigint not null default 0,
  changed bigint not null default 0,
  skipped bigint not null default 0,
  requested_at timestamptz not null default now(),
  -- Null until every object was compared.
  ended_at timestamptz
);

-- For migrations: those that add what all objects of this kind have at the processor. A database that has never reached
-- the processor has no rows to complete.
create function till.request_backfill(of_resource text, by_schema integer) returns void language sql as $$
  insert into till.backfills (resource, schema)
  select of_resource, by_schema where exists (select from till.processor_account)
  on conflict (resource) do update set schema = excluded.schema, round = backfills.round + 1, cursor = null,
    compared = 0, changed = 0, skipped = 0, requested_at = excluded.requested_at, ended_at = null;
$$;
