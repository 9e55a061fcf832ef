-- Customers, and what all resources have in common. Each row mirrors one object of the processor. Columns that several
-- tables share:
--
-- processor_as_of and processor_as_of_latest: the earliest and the latest second at which the last facts of the row
--   were true. For an event both are the second of the event. For a response of the processor they are the seconds of
--   its request and its arrival. So Till can tell late facts from new ones.
-- revision: increases with every change, so that Till can tell whether the row has changed since a request was sent.
-- metadata: the application's own values, without the metadata keys that Till reserves for itself.
-- checked_at: when a row that is not final was last compared with the processor.
--
-- Pages have room for updates (fillfactor), so that an update that changes no indexed column writes no index entries.
set local lock_timeout = '5s';

create table till.customers (
  id uuid primary key,
  processor_customer_id text not null unique,
  -- Erased when the customer is deleted. The row itself stays, because payments and webhooks still refer to it.
  email text,
  name text,
  phone text,
  -- The application's own id of the customer. See till.external_ids.
  external_id text,
  metadata jsonb not null default '{}',
  deleted_at timestamptz,
  -- When Till searches the events of a deleted customer for personal data next. Null when the search is done. Due from
  -- the start, so that a statement that deletes a customer does not have to set it.
  erase_at timestamptz default now(),
  -- When the events of a deleted customer were first searched, by the database's clock. A second search follows later.
  first_erased_at timestamptz,
  processor_as_of timestamptz not null,
  processor_as_of_latest timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0,
  -- What a search compares. Generated, so that it is erased with the email and the name. A line break separates the
  -- name from the email, and each begins with a space, like every word. Comparing the newest thousands of customers
  -- would take a tenth of a second if the accents were removed each time.
  searched text generated always as
    (' ' || coalesce(till.searchable(name), '') || chr(10) || ' ' || till.searchable(email)) stored,
  check (email is not null or deleted_at is not null),
  check (deleted_at is null or (email is null and name is null and phone is null))
);

create index on till.customers (erase_at) where deleted_at is not null and erase_at is not null;
create index on till.customers (created_at, id) where deleted_at is null;
create index customers_email_idx on till.customers (lower(email), created_at, id);

-- Each filter of a list that can be used alone has an index that ends in (created_at, id), so that a page and its total
-- are read in the order of the list.

-- New entries wait in a list, which makes inserts cheap. Every search reads that list, so it is small.
create index customers_part_idx on till.customers using gin (till.search_parts(searched))
  with (gin_pending_list_limit = 512) where deleted_at is null;
-- Beginnings of names and of emails.
create index customers_name_prefix_idx on till.customers (split_part(searched, chr(10), 1) text_pattern_ops, id desc)
  where deleted_at is null and name is not null;
create index customers_email_prefix_idx on till.customers (split_part(searched, chr(10), 2) text_pattern_ops, id desc)
  where deleted_at is null;

-- Which customer has an external id. The primary key decides between concurrent requests before the processor is
-- called. claim_id is the claim that reserves the external id for a customer whose row does not have it yet. It is null
-- once the row has it. A separate table, so that a reservation needs no customer row.
create table till.external_ids (
  external_id text primary key,
  customer_id uuid not null,
  claim_id uuid
);
create index on till.external_ids (customer_id);
create index on till.external_ids (claim_id) where claim_id is not null;
-- Search by prefix. Only an index with text_pattern_ops, which compares bytes, works with every collation of the
-- database.
create index external_ids_prefix_idx on till.external_ids (external_id text_pattern_ops);

-- Deleted customers are not listed. A customer that is recovered from the processor may already be deleted.
create function till.count_inserted_customers() returns trigger language plpgsql as $$
begin
  perform till.add_to_list_count('customers', (select count(*) from inserted where deleted_at is null));
  return null;
end $$;

create trigger count_inserted after insert on till.customers
  referencing new table as inserted for each statement execute function till.count_inserted_customers();

-- Only customers are ever deleted.
create function till.count_soft_deleted() returns trigger language plpgsql as $$
begin
  perform till.add_to_list_count('customers',
    (select count(*) from after where deleted_at is null) - (select count(*) from before where deleted_at is null));
  return null;
end $$;

create trigger count_soft_deleted after update on till.customers
  referencing old table as before new table as after for each statement execute function till.count_soft_deleted();

-- Deleted customers. Triggers erase the data, so that every statement that deletes a customer does it. The store erases
-- the metadata of its payments and subscriptions, because an event is written for each of them.

-- A deleted customer keeps no personal data.
create function till.erase_external_id() returns trigger language plpgsql as $$
begin
  new.external_id := null;
  new.metadata := '{}';
  delete from till.external_ids where customer_id = new.id;
  return new;
end $$;

create trigger erase_external_id before update on till.customers
  for each row when (old.deleted_at is null and new.deleted_at is not null) execute function till.erase_external_id();

-- A row of a deleted customer gets no metadata, however late the facts arrive.
create function till.refuse_metadata_of_deleted() returns trigger language plpgsql as $$
begin
  if exists (select from till.customers where id = new.customer_id and deleted_at is not null) then
    new.metadata := null;
  end if;
  return new;
end $$;
