-- What the API shows of an invoice beyond its amounts and status. Null in rows that are older than these columns, until
-- the next event about the invoice or a resync.
set local lock_timeout = '5s';

alter table till.invoices
  add column number text,
  add column amount_remaining bigint,
  add column invoice_pdf_url text,
  add column attempt_count integer,
  add column next_payment_attempt_at timestamptz,
  add column period_start timestamptz,
  add column period_end timestamptz;
