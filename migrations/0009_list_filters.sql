-- The filters of the lists: each filter that can be used alone has an index that ends in (created_at, id), so that a page
-- and its total are read in the order of the list.
-- Four tables at once can meet a process at work in a circle. The wait is shorter than the second after which PostgreSQL
-- looks for deadlocks, so it is always the migration that gives up, and it is tried again.
set local lock_timeout = '500ms';

-- Indexes of tables that may be large. Building one here would block the writes to its table, about a second for every
-- million rows. Small tables get theirs below; src/platform/deferred-indexes.ts builds the others concurrently. A
-- function and not a table, because the owner of the schema executes these definitions, and the role that the service
-- runs as may write to tables. A later migration replaces the function and repeats these rows.
create function till.deferred_indexes() returns table (name text, table_name text, definition text)
language sql immutable set search_path = '' as $$
  values
    ('customers_email_idx', 'customers', '(lower(email), created_at, id)'),
    ('payments_status_idx', 'payments', '(status, created_at, id)'),
    ('subscriptions_status_idx', 'subscriptions', '(status, created_at, id)'),
    ('subscriptions_plan_idx', 'subscriptions', '(plan_id, created_at, id)'),
    -- Neither a plan nor a status is selective, so the two together have an index as well.
    ('subscriptions_plan_status_idx', 'subscriptions', '(plan_id, status, created_at, id)'),
    ('invoices_status_idx', 'invoices', '(status, created_at, id)'),
    ('invoices_subscription_idx', 'invoices', '(processor_subscription_id, created_at, id)')
$$;

do $$
declare
  small_bytes constant bigint := 8 * 1024 * 1024;
  wanted record;
begin
  for wanted in
    select * from till.deferred_indexes()
    where pg_catalog.pg_relation_size(format('till.%I', table_name)::regclass) < small_bytes
  loop
    execute format('create index %I on till.%I %s', wanted.name, wanted.table_name, wanted.definition);
  end loop;
end $$;
