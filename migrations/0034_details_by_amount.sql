-- Amounts within the facets of failed and disputed payments: see docs/decisions/0070-facets.md. A range of amounts that no
-- payment with a failure code has read all payments with this code.
set local lock_timeout = '5s';

create index payments_detail_amount_idx on till.payments (detail, currency, status, marks, amount nulls first, created_at, id)
  where detail is not null;
