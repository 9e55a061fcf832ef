-- What subscriptions charge is a payment too. Its row names the invoice that it pays and the subscription of that invoice,
-- by the processor's ids: the row of the invoice may come later. Both are null in payments made through the API, which a
-- previous release goes on inserting.
set local lock_timeout = '5s';

alter table till.payments add column processor_invoice_id text, add column processor_subscription_id text;

-- The list shows the payments made through the API, and its total counts only those.
create function till.count_inserted_payments() returns trigger language plpgsql as $$
begin
  perform till.add_to_list_count('payments', (select count(*) from inserted where processor_invoice_id is null));
  return null;
end $$;

create or replace trigger count_inserted after insert on till.payments
  referencing new table as inserted for each statement execute function till.count_inserted_payments();

-- The payments of the two sources have indexes of their own, so that many of one do not slow down lists of the other.
create or replace function till.deferred_indexes() returns table (name text, table_name text, definition text)
language sql immutable set search_path = '' as $$
  values
    ('customers_email_idx', 'customers', '(lower(email), created_at, id)'),
    ('payments_status_idx', 'payments', '(status, created_at, id)'),
    ('payments_made_idx', 'payments', '(created_at, id) where processor_invoice_id is null'),
    ('payments_made_status_idx', 'payments', '(status, created_at, id) where processor_invoice_id is null'),
    ('payments_charged_idx', 'payments', '(created_at, id) where processor_invoice_id is not null'),
    ('payments_charged_status_idx', 'payments', '(status, created_at, id) where processor_invoice_id is not null'),
    ('payments_subscription_idx', 'payments',
      '(processor_subscription_id, created_at, id) where processor_invoice_id is not null'),
    ('subscriptions_status_idx', 'subscriptions', '(status, created_at, id)'),
    ('subscriptions_plan_idx', 'subscriptions', '(plan_id, created_at, id)'),
    -- Neither a plan nor a status is selective, so the two together have an index as well.
    ('subscriptions_plan_status_idx', 'subscriptions', '(plan_id, status, created_at, id)'),
    ('invoices_status_idx', 'invoices', '(status, created_at, id)'),
    ('invoices_subscription_idx', 'invoices', '(processor_subscription_id, created_at, id)')
$$;

-- No row has an invoice yet, so the last three indexes are empty, but building them still reads the table.
do $$
declare
  small_bytes constant bigint := 8 * 1024 * 1024;
  wanted record;
begin
  for wanted in
    select * from till.deferred_indexes()
    where table_name = 'payments' and to_regclass(format('till.%I', name)) is null
      and pg_catalog.pg_relation_size(format('till.%I', table_name)::regclass) < small_bytes
  loop
    execute format('create index %I on till.%I %s', wanted.name, wanted.table_name, wanted.definition);
  end loop;
end $$;
