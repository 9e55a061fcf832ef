-- What makes the lists of the resources fast: their totals, and an index for each order, filter and search.
set local lock_timeout = '5s';

-- The number of rows of each full list. Counting five million rows takes a third of a second; adding up these counters
-- takes a fraction of a millisecond. A counter has 32 shards, so that writers rarely wait for each other. A connection
-- always uses the same shard, because two connections that pick shards at random could deadlock.
create table till.list_counts (
  resource text not null,
  shard smallint not null,
  count bigint not null,
  primary key (resource, shard)
) with (fillfactor = 50);

create function till.add_to_list_count(resource text, delta bigint) returns void language sql as $$
  insert into till.list_counts as counts (resource, shard, count)
  select resource, pg_backend_pid() % 32, delta where delta <> 0
  on conflict on constraint list_counts_pkey do update set count = counts.count + excluded.count
$$;

create function till.count_inserted() returns trigger language plpgsql as $$
begin
  perform till.add_to_list_count(tg_table_name, (select count(*) from inserted));
  return null;
end $$;

create trigger count_inserted after insert on till.subscriptions
  referencing new table as inserted for each statement execute function till.count_inserted();
create trigger count_inserted after insert on till.invoices
  referencing new table as inserted for each statement execute function till.count_inserted();

-- The list shows the payments that were created through the API.
create function till.count_inserted_payments() returns trigger language plpgsql as $$
begin
  perform till.add_to_list_count('payments', (select count(*) from inserted where processor_invoice_id is null));
  return null;
end $$;

create trigger count_inserted after insert on till.payments
  referencing new table as inserted for each statement execute function till.count_inserted_payments();

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

-- The indexes of the lists. Each filter that can be used alone has an index that ends in (created_at, id), so that a
-- page and its total are read in the order of the list.
create index on till.customers (created_at, id) where deleted_at is null;
create index customers_email_idx on till.customers (lower(email), created_at, id);

create index on till.plans (created_at, id);

create index on till.payments (created_at, id);
create index on till.payments (customer_id, created_at, id);
create index payments_status_idx on till.payments (status, created_at, id);
-- Payments of the API and of subscriptions have separate indexes, so that many of one kind do not slow down the list of
-- the other.
create index payments_made_idx on till.payments (created_at, id) where processor_invoice_id is null;
create index payments_made_status_idx on till.payments (status, created_at, id) where processor_invoice_id is null;
create index payments_charged_idx on till.payments (created_at, id) where processor_invoice_id is not null;
create index payments_charged_status_idx on till.payments (status, created_at, id)
  where processor_invoice_id is not null;
create index payments_subscription_idx on till.payments (processor_subscription_id, created_at, id)
  where processor_invoice_id is not null;
-- One index for both kinds of payments, with or without a status: it includes the columns of these conditions.
create index payments_currency_idx on till.payments (currency, created_at, id) include (status, processor_invoice_id);
create index payments_failed_idx on till.payments (created_at, id)
  where failure is not null and intent_status <> 'succeeded';
create index payments_refunded_idx on till.payments (created_at, id) where amount_refunded > 0;
create index payments_disputed_idx on till.payments (created_at, id) where dispute is not null;

create index on till.refunds (payment_id, created_at, id);
create index refunds_created_idx on till.refunds (created_at, id)
  where processor_refund_id is not null and kind = 'refund';
create index refunds_release_idx on till.refunds (created_at, id)
  where processor_refund_id is not null and kind = 'release';
create index refunds_status_idx on till.refunds (status, created_at, id) where processor_refund_id is not null;
create index refunds_currency_idx on till.refunds (currency, created_at, id) where processor_refund_id is not null;

create index on till.subscriptions (created_at, id);
create index on till.subscriptions (customer_id, created_at, id);
create index subscriptions_status_idx on till.subscriptions (status, created_at, id);
create index subscriptions_plan_idx on till.subscriptions (plan_id, created_at, id);
-- Neither a plan nor a status is selective, so there is also an index for both together.
create index subscriptions_plan_status_idx on till.subscriptions (plan_id, status, created_at, id);

create index on till.invoices (created_at, id);
create index on till.invoices (customer_id, created_at, id);
create index invoices_status_idx on till.invoices (status, created_at, id);
create index invoices_subscription_idx on till.invoices (processor_subscription_id, created_at, id);

-- Search by prefix. Only an index with text_pattern_ops, which compares bytes, works with every collation of the
-- database. A charge has no row: its payment contains its id.
create index external_ids_prefix_idx on till.external_ids (external_id text_pattern_ops);
create index payments_charge_idx on till.payments (processor_charge_id) where processor_charge_id is not null;
create index invoices_number_idx on till.invoices (lower(number) text_pattern_ops, id desc) where number is not null;
