-- The search by beginnings of texts. Only an index with text_pattern_ops, which compares bytes, finds them whatever the
-- collation of the database is. A charge has no row of its own: its payment names it.
set local lock_timeout = '5s';

create function till.search_indexes() returns table (name text, table_name text, definition text)
language sql immutable set search_path = '' as $$
  values
    ('customers_email_prefix_idx', 'customers', '(lower(email) text_pattern_ops, id desc) where deleted_at is null'),
    ('external_ids_prefix_idx', 'external_ids', '(external_id text_pattern_ops)'),
    ('payments_charge_idx', 'payments', '(processor_charge_id) where processor_charge_id is not null'),
    ('invoices_number_idx', 'invoices', '(lower(number) text_pattern_ops, id desc) where number is not null')
$$;

create or replace function till.deferred_indexes() returns table (name text, table_name text, definition text)
language sql immutable set search_path = '' as $$
  select * from till.filter_indexes()
  union all select * from till.overview_indexes()
  union all select * from till.search_indexes()
$$;

call till.build_small_indexes();
