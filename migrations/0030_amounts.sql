-- Amounts within facets: see docs/decisions/0070-facets.md. An index of the amounts alone found all rows within a range, and
-- among millions of them the few that other filters select took a minute.
set local lock_timeout = '5s';

drop index till.payments_amount_idx;
create index payments_amount_idx on till.payments (currency, status, marks, amount, created_at, id);

-- The facets of invoices.
drop index till.invoices_status_idx;
drop index till.invoices_amount_due_idx;
create index invoices_facet_idx on till.invoices (currency, status, created_at, id) include (amount_due);
create index invoices_amount_idx on till.invoices (currency, status, amount_due, created_at, id);
