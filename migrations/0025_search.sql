-- The search by beginnings of texts. Only an index with text_pattern_ops, which compares bytes, finds them whatever the
-- collation of the database is. A charge has no row of its own: its payment names it.
set local lock_timeout = '5s';

create or replace function till.deferred_indexes() returns table (name text, table_name text, definition text)
language sql immutable set search_path = '' as $$
  values
    ('customers_email_idx', 'customers', '(lower(email), created_at, id)'),
    ('customers_email_prefix_idx', 'customers', '(lower(email) text_pattern_ops, id desc) where deleted_at is null'),
    ('external_ids_prefix_idx', 'external_ids', '(external_id text_pattern_ops)'),
    ('payments_status_idx', 'payments', '(status, created_at, id)'),
    ('payments_made_idx', 'payments', '(created_at, id) where processor_invoice_id is null'),
    ('payments_made_status_idx', 'payments', '(status, created_at, id) where processor_invoice_id is null'),
    ('payments_charged_idx', 'payments', '(created_at, id) where processor_invoice_id is not null'),
    ('payments_charged_status_idx', 'payments', '(status, created_at, id) where processor_invoice_id is not null'),
    ('payments_subscription_idx', 'payments',
      '(processor_subscription_id, created_at, id) where processor_invoice_id is not null'),
    -- One index for all payments, those made and those charged, and with a status: it has what decides about each.
    ('payments_currency_idx', 'payments', '(currency, created_at, id) include (status, processor_invoice_id)'),
    ('payments_failed_idx', 'payments', '(created_at, id) where failure is not null and intent_status <> ''succeeded'''),
    ('payments_refunded_idx', 'payments', '(created_at, id) where amount_refunded > 0'),
    ('payments_disputed_idx', 'payments', '(created_at, id) where dispute is not null'),
    ('payments_charge_idx', 'payments', '(processor_charge_id) where processor_charge_id is not null'),
    ('refunds_created_idx', 'refunds', '(created_at, id) where processor_refund_id is not null'),
    ('refunds_status_idx', 'refunds', '(status, created_at, id) where processor_refund_id is not null'),
    ('subscriptions_status_idx', 'subscriptions', '(status, created_at, id)'),
    ('subscriptions_plan_idx', 'subscriptions', '(plan_id, created_at, id)'),
    -- Neither a plan nor a status is selective, so the two together have an index as well.
    ('subscriptions_plan_status_idx', 'subscriptions', '(plan_id, status, created_at, id)'),
    ('invoices_status_idx', 'invoices', '(status, created_at, id)'),
    ('invoices_subscription_idx', 'invoices', '(processor_subscription_id, created_at, id)'),
    ('invoices_number_idx', 'invoices', '(lower(number) text_pattern_ops, id desc) where number is not null')
$$;

do $$
declare
  small_bytes constant bigint := 8 * 1024 * 1024;
  wanted record;
begin
  for wanted in
    select * from till.deferred_indexes()
    where to_regclass(format('till.%I', name)) is null
      and pg_catalog.pg_relation_size(format('till.%I', table_name)::regclass) < small_bytes
  loop
    execute format('create index %I on till.%I %s', wanted.name, wanted.table_name, wanted.definition);
  end loop;
end $$;
