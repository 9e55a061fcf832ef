-- Metadata on payments and subscriptions. It may contain anything, so it is erased with the customer that they belong to.
-- Several tables at once can meet a process at work in a circle. The wait is shorter than the second after which PostgreSQL
-- looks for deadlocks, so it is always the migration that gives up, and it is tried again.
set local lock_timeout = '500ms';

-- Null once it is erased. No later fact sets it again.
alter table till.payments add column metadata jsonb default '{}';
alter table till.subscriptions add column metadata jsonb default '{}';

-- A row of a deleted customer takes no metadata, however late the facts arrive.
create function till.refuse_metadata_of_deleted() returns trigger language plpgsql as $$
begin
  if exists (select from till.customers where id = new.customer_id and deleted_at is not null) then
    new.metadata := null;
  end if;
  return new;
end $$;

create trigger refuse_metadata_of_deleted before insert or update on till.payments
  for each row when (new.metadata <> '{}') execute function till.refuse_metadata_of_deleted();
create trigger refuse_metadata_of_deleted before insert or update on till.subscriptions
  for each row when (new.metadata <> '{}') execute function till.refuse_metadata_of_deleted();

-- Erases with the deletion, and again with each search for the customer's events: a write that began before the deletion
-- could not see it. Locks in the order of the ids, like every transaction that locks several rows.
create function till.erase_owned_metadata() returns trigger language plpgsql as $$
begin
  with owned as (
    select id from till.payments where customer_id = new.id and metadata <> '{}' order by id for no key update)
  update till.payments set metadata = null, revision = revision + 1,
    updated_at = greatest(payments.updated_at, new.updated_at)
  from owned where payments.id = owned.id;
  with owned as (
    select id from till.subscriptions where customer_id = new.id and metadata <> '{}' order by id for no key update)
  update till.subscriptions set metadata = null, revision = revision + 1,
    updated_at = greatest(subscriptions.updated_at, new.updated_at)
  from owned where subscriptions.id = owned.id;
  return null;
end $$;

create trigger erase_owned_metadata after update on till.customers
  for each row when (new.deleted_at is not null
    and (old.deleted_at is null or old.erase_at is distinct from new.erase_at))
  execute function till.erase_owned_metadata();

-- Whose metadata an event of a payment or subscription contains, so that it is found when that customer is deleted. Null
-- for an event that contains none, and for events about customers themselves.
alter table till.webhook_events add column customer_key text;

create index webhook_events_customer_idx on only till.webhook_events (customer_key, created_at, id)
  where personal_data = 'customer' and customer_key is not null;

-- Building an index blocks writes to its table. Here only small partitions get theirs, new weeks have them from the start,
-- and src/platform/partitioned-indexes.ts builds the rest concurrently.
do $$
declare
  small_bytes constant bigint := 8 * 1024 * 1024;
  part text;
begin
  for part in
    select relname from pg_catalog.pg_class join pg_catalog.pg_inherits on inhrelid = pg_class.oid
    where inhparent = 'till.webhook_events'::regclass and pg_catalog.pg_relation_size(pg_class.oid) < small_bytes
  loop
    execute format('create index %I on till.%I (customer_key, created_at, id)
      where personal_data = ''customer'' and customer_key is not null',
      part || '_webhook_events_customer_idx', part);
    execute format('alter index till.webhook_events_customer_idx attach partition till.%I',
      part || '_webhook_events_customer_idx');
  end loop;
end $$;
