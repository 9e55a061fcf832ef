-- Contacts: a made-up resource, for a test of the structure.
set local lock_timeout = '5s';

create table till.contacts (
  id uuid primary key,
  processor_customer_id text not null unique,
  customer_id uuid not null references till.customers,
  email text,
  name text,
  processor_as_of timestamptz not null,
  processor_as_of_latest timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0
);

create index on till.contacts (created_at, id);
create trigger count_inserted after insert on till.contacts
  referencing new table as inserted for each statement execute function till.count_inserted();
