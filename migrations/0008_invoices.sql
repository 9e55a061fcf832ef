-- Invoices of subscriptions.
set local lock_timeout = '5s';

create table till.invoices (
  id uuid primary key,
  processor_invoice_id text not null unique,
  -- Null if the processor's customer has no row.
  customer_id uuid references till.customers,
  processor_customer_id text,
  processor_subscription_id text,
  number text,
  amount_due bigint not null,
  amount_paid bigint not null,
  amount_remaining bigint not null,
  currency text not null check (currency ~ '^[a-z]{3}$'),
  status text not null check (status in ('draft', 'open', 'paid', 'uncollectible', 'void')),
  attempt_count integer not null,
  next_payment_attempt_at timestamptz,
  period_start timestamptz,
  period_end timestamptz,
  hosted_invoice_url text,
  invoice_pdf_url text,
  -- The end of the last period that the subscription's lines bill. The latest paid invoice of a subscription shows
  -- until when the subscription is paid. The subscription's own period does not: it advances even if a payment fails.
  covers_until timestamptz,
  -- True while a paid invoice is built from an event that does not show all of its lines.
  is_incomplete boolean not null default false,
  processor_as_of timestamptz not null,
  processor_as_of_latest timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0
);

-- Invoices that were stored before their customer. When the customer is recovered, this index finds them.
create index invoices_without_customer on till.invoices (processor_customer_id) where customer_id is null;

create index on till.invoices (created_at, id);
create index on till.invoices (customer_id, created_at, id);
create index invoices_subscription_idx on till.invoices (processor_subscription_id, created_at, id);

-- The facets of invoices, and amounts within them.
create index invoices_facet_idx on till.invoices (currency, status, created_at nulls first, id) include (amount_due);
create index invoices_amount_idx on till.invoices (currency, status, amount_due nulls first, created_at, id);

-- Without the id: few invoices have the same number.
create index invoices_number_idx on till.invoices (lower(number) text_pattern_ops) where number is not null;

-- What is owed on each subscription.
create index invoices_owed_idx on till.invoices (processor_subscription_id) include (amount_remaining, currency)
  where status = 'open' and processor_subscription_id is not null;

create trigger count_inserted after insert on till.invoices
  referencing new table as inserted for each statement execute function till.count_inserted();
