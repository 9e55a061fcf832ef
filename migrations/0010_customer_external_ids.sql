-- The application's own id of a customer, and metadata on customers and plans.
set local lock_timeout = '500ms';

alter table till.plans add column metadata jsonb not null default '{}';
alter table till.customers add column metadata jsonb not null default '{}', add column external_id text;

-- Which customer has an external id. The primary key decides between concurrent requests, before the processor is called:
-- claim_id is the claim that reserves the external id for a customer that does not carry it yet, and null once the
-- customer's row carries it. A separate table, so that a reservation needs no row of a customer, and large tables need no
-- new index.
create table till.external_ids (
  external_id text primary key,
  customer_id uuid not null,
  claim_id uuid
);
create index on till.external_ids (customer_id);
create index on till.external_ids (claim_id) where claim_id is not null;

-- A deleted customer keeps no personal data, also where a release that does not know these columns deletes it.
create function till.erase_external_id() returns trigger language plpgsql as $$
begin
  new.external_id := null;
  new.metadata := '{}';
  delete from till.external_ids where customer_id = new.id;
  return new;
end $$;

create trigger erase_external_id before update on till.customers
  for each row when (old.deleted_at is null and new.deleted_at is not null) execute function till.erase_external_id();
