-- The list of all refunds of a currency. Without an index, it would read and sort every refund.
set local lock_timeout = '5s';

-- From here on each migration adds a function with its own indexes (see 0009), instead of repeating those of the others.
alter function till.deferred_indexes() rename to earlier_indexes;

create function till.refund_indexes() returns table (name text, table_name text, definition text)
language sql immutable set search_path = '' as $$
  values ('refunds_currency_idx', 'refunds', '(currency, created_at, id) where processor_refund_id is not null')
$$;

create function till.deferred_indexes() returns table (name text, table_name text, definition text)
language sql immutable set search_path = '' as $$
  select * from till.earlier_indexes()
  union all select * from till.refund_indexes()
$$;

-- Builds the indexes of small tables. A migration that adds indexes calls it.
create procedure till.build_small_indexes() language plpgsql set search_path = '' as $$
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

revoke execute on procedure till.build_small_indexes from public;

call till.build_small_indexes();
