-- The installation: its id, and the processor account that it belongs to.
set local lock_timeout = '5s';

-- The id of this installation. It is part of every idempotency key that the processor sees. It is created with the
-- database, so every backup and every replica has it, and two databases on one processor account have different ids.
create table till.installation (
  -- At most one row.
  is_only_row boolean primary key default true check (is_only_row),
  id uuid not null default gen_random_uuid()
);
insert into till.installation default values;

-- The processor account and mode that this database belongs to, stored at first contact. Till refuses a processor key
-- of another account or mode, because that processor knows none of the objects that the rows mirror.
create table till.processor_account (
  -- At most one row.
  is_only_row boolean primary key default true check (is_only_row),
  -- Null while all processor keys so far were restricted ones that may not read their account.
  account_id text,
  livemode boolean not null,
  remembered_at timestamptz not null default now()
);
