-- The place of nulls makes each of these indexes the only one in its order, so that PostgreSQL 15 to 17 can use it with
-- equalities: see docs/decisions/0070-facets.md. No column has nulls.
set local lock_timeout = '5s';

drop index till.payments_facet_idx;
create index payments_facet_idx on till.payments (currency, status, marks, created_at nulls first, id) include (amount);
drop index till.payments_detail_idx;
create index payments_detail_idx on till.payments (detail, currency, status, marks, created_at nulls first, id)
  include (amount) where detail is not null;
drop index till.payments_amount_idx;
create index payments_amount_idx on till.payments (currency, status, marks, amount nulls first, created_at, id);
drop index till.refunds_facet_idx;
create index refunds_facet_idx on till.refunds (currency, status, kind, created_at nulls first, id)
  where processor_refund_id is not null;
drop index till.subscriptions_plan_status_idx;
create index subscriptions_plan_status_idx on till.subscriptions (plan_id, status, created_at nulls first, id);
drop index till.invoices_facet_idx;
create index invoices_facet_idx on till.invoices (currency, status, created_at nulls first, id) include (amount_due);
drop index till.invoices_amount_idx;
create index invoices_amount_idx on till.invoices (currency, status, amount_due nulls first, created_at, id);
