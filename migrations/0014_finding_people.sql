-- What finding people and what they paid needs: parts of names and emails, cards, and amounts.
set local lock_timeout = '5s';

-- Three neighbouring characters of a text, from every place, or from every `step` places and the last one. An index of
-- them finds any part of a text. The extension pg_trgm does nearly the same, but a role may lack the right to create it,
-- and with the locale of the embedded database it ignores all letters but those of ASCII. PL/pgSQL is twice as fast here
-- as SQL.
create function till.trigrams(content text, step integer default 1) returns text[]
language plpgsql immutable strict parallel safe as $$
declare
  found text[] := '{}';
  last_place integer := length(content) - 2;
begin
  for place in 1 .. last_place by step loop
    found := found || substr(content, place, 3);
  end loop;
  if last_place > 1 and (last_place - 1) % step > 0 then
    found := found || substr(content, last_place, 3);
  end if;
  return found;
end $$;

-- New entries wait in a list, which makes inserts cheap. Every search reads that list, so it is small.
create index customers_part_idx on till.customers
  using gin (till.trigrams(lower(coalesce(name, '') || chr(10) || coalesce(email, ''))))
  with (gin_pending_list_limit = 512) where deleted_at is null;
create index customers_name_prefix_idx on till.customers (lower(name) text_pattern_ops, id desc)
  where deleted_at is null and name is not null;

create index payments_last4_idx on till.payments ((payment_method ->> 'last4'), created_at, id)
  where payment_method is not null;
-- The order by amount, and the search for an amount.
create index payments_amount_idx on till.payments (amount, created_at, id)
  include (currency, status, processor_invoice_id);
create index invoices_amount_due_idx on till.invoices (amount_due, created_at, id) include (currency, status);

-- These now also include the columns that the filters for amounts and for refunds in part compare, so that rows that a
-- filter leaves out are not read.
drop index till.payments_currency_idx;
create index payments_currency_idx on till.payments (currency, created_at, id)
  include (status, processor_invoice_id, amount);
drop index till.payments_refunded_idx;
create index payments_refunded_idx on till.payments (created_at, id) include (status, processor_invoice_id, amount_refunded)
  where amount_refunded > 0;
