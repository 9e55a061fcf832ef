-- What the API shows of a subscription beyond its plan, status and period, and until when an invoice pays.
set local lock_timeout = '5s';

alter table till.subscriptions
  add column quantity bigint not null default 1,
  add column cancel_at_period_end boolean not null default false,
  add column cancel_at timestamptz,
  add column canceled_at timestamptz,
  add column ended_at timestamptz,
  -- The processor's id, because the invoice may have no row yet.
  add column processor_latest_invoice_id text,
  add column default_payment_method_id text,
  -- The first discount: { processorDiscountId, code, percentOff, amountOff, currency, endsAt }.
  add column discount jsonb,
  -- { planId, quantity, at }; at is null for a change that waits for the customer to authenticate.
  add column pending_change jsonb,
  -- True while the row is built from an event that does not show the discount or the scheduled change. A read of the
  -- subscription completes it.
  add column is_incomplete boolean not null default false;

alter table till.invoices
  -- The end of the last period that the subscription's lines bill. The latest paid invoice of a subscription says until
  -- when the subscription is paid: the subscription's own period goes on when a payment fails.
  add column covers_until timestamptz,
  -- True while a paid invoice is built from an event that does not show all of its lines.
  add column is_incomplete boolean not null default false;
