-- The processor account and mode that this database belongs to, remembered at first contact. A key of another account
-- or mode is refused, because its processor knows none of the objects that the rows mirror.
set local lock_timeout = '5s';

create table till.processor_account (
  -- At most one row.
  is_only_row boolean primary key default true check (is_only_row),
  -- Null as long as every key so far was a restricted one that may not read its account.
  account_id text,
  livemode boolean not null,
  remembered_at timestamptz not null default now()
);
