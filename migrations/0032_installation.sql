-- The id of this installation. It is part of every key that the processor sees. It is created with the database, so
-- every backup and every replica has it, and two databases on one account of the processor have different ids.
set local lock_timeout = '5s';

create table till.installation (
  -- At most one row.
  is_only_row boolean primary key default true check (is_only_row),
  id uuid not null default gen_random_uuid()
);
insert into till.installation default values;
