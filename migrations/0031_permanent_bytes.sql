-- Fewer bytes for each payment and invoice, which stay for ever: see docs/decisions/0075-permanent-bytes.md.
set local lock_timeout = '5s';

-- The list of all payments merges the indexes of those that were created through the API and those that subscriptions
-- charged.
drop index till.payments_created_at_id_idx;

-- Without the id. Few payments by the same card number, and few invoices with the same number, are created at the same
-- time, so PostgreSQL sorts them by their id.
drop index till.payments_last4_idx;
create index payments_last4_idx on till.payments ((payment_method ->> 'last4'), created_at)
  where payment_method is not null;
drop index till.invoices_number_idx;
create index invoices_number_idx on till.invoices (lower(number) text_pattern_ops) where number is not null;

-- Their status is in indexes, so hardly any update can do without new index entries, and room for it in the page only makes
-- the table larger. Pages that exist are filled by new rows.
alter table till.payments set (fillfactor = 100);
alter table till.invoices set (fillfactor = 100);
