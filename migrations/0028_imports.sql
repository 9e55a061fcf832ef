-- Adoption of what an account of the processor has already: how far an import is, and what it left out.
set local lock_timeout = '5s';

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
-- One at a time: two would read the same objects from the processor, and share its rate limit.
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

-- Products that Till did not create can have several prices, each of which is a plan.
alter table till.plans drop constraint plans_processor_product_id_key;
create index on till.plans (processor_product_id);
