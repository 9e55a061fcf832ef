-- The installation: its id, and the account of the processor that it belongs to.
set local lock_timeout = '5s';

-- The id of this installation. It is part of every idempotency key that the processor sees. It is created with the
-- database, so every backup and every replica has it, and two databases on one account of the processor have different
-- ids.
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
  -- Null as long as every processor key so far was a restricted one that may not read its account.
  account_id text,
  livemode boolean not null,
  remembered_at timestamptz not null default now()
);
