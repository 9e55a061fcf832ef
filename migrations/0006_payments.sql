-- Payments and their refunds.
--
-- Pages have no room for updates: the status is in indexes, so hardly any update can do without new index entries.
set local lock_timeout = '5s';

-- Payments that were created through the API, and those that subscriptions charged.
create table till.payments (
  id uuid primary key,
  processor_payment_intent_id text not null unique,
  customer_id uuid not null references till.customers,
  -- For a payment that a subscription charged: the processor's ids of its invoice and of that invoice's subscription.
  -- The row of the invoice may be written later. Null for payments that were created through the API.
  processor_invoice_id text,
  processor_subscription_id text,
  -- The checkout in which the payment was made. Null for other payments.
  checkout_id uuid,
  description text,
  -- Null once it is erased. No later facts set it again.
  metadata jsonb default '{}',
  amount bigint not null check (amount >= 0),
  amount_received bigint not null default 0 check (amount_received >= 0),
  -- Authorized and not yet captured.
  amount_capturable bigint not null default 0 check (amount_capturable >= 0),
  -- The sum of the refunds that did not fail.
  amount_refunded bigint not null default 0 check (amount_refunded >= 0),
  -- The sum of the refunds in progress, to which the processor has not responded yet.
  amount_reserved bigint not null default 0 check (amount_reserved >= 0),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  -- The processor's status of the payment intent.
  intent_status text not null check (
    intent_status in ('requires_payment_method', 'requires_confirmation', 'requires_action', 'processing', 'succeeded',
      'canceled')
  ),
  -- The status that the API shows. "refunded" follows from the refunds and is never set directly.
  status text not null generated always as (
    case
      when intent_status = 'succeeded' and amount_received > 0 and amount_refunded >= amount_received then 'refunded'
      else intent_status
    end
  ) stored,
  -- The last failed attempt: { code, declineCode, message }. Null if there was none, and once the payment has
  -- succeeded.
  failure jsonb,
  -- The latest charge, by the time of its creation.
  processor_charge_id text,
  charged_at timestamptz,
  -- The payment method of the latest charge: { id, type, brand, last4, expMonth, expYear }. Till stores nothing else
  -- about cards.
  payment_method jsonb,
  -- When the processor releases an authorization that is not captured.
  capture_before timestamptz,
  -- The newest dispute: { processorDisputeId, createdAt, asOf: { earliest, latest }, status, amount, currency, reason,
  -- evidenceDueBy }. Its asOf orders the events about it. Null if the payment was never disputed.
  dispute jsonb,
  processor_as_of timestamptz not null,
  processor_as_of_latest timestamptz not null,
  checked_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0,
  -- What filters ask about a payment, added up: 1 a subscription charged it; 2 the last attempt failed; 4 some of it
  -- was refunded; 8 it was disputed.
  marks smallint not null generated always as (
    ((processor_invoice_id is not null)::integer
      + 2 * (failure is not null and intent_status <> 'succeeded')::integer
      + 4 * (amount_refunded > 0)::integer
      + 8 * (dispute is not null)::integer)::smallint
  ) stored,
  -- Of a payment that failed or was disputed: the code and the decline code of the failure, and the status of the
  -- dispute, each in a line. Cut, because an entry of an index has a limited size.
  detail text generated always as (
    case when dispute is not null or (failure is not null and intent_status <> 'succeeded') then
      case when failure is not null and intent_status <> 'succeeded' then
        left(coalesce(failure ->> 'code', ''), 200) || chr(10) || left(coalesce(failure ->> 'declineCode', ''), 200)
      else chr(10) end
      || chr(10) || left(coalesce(dispute ->> 'status', ''), 200)
    end
  ) stored
);

create index on till.payments (created_at) where intent_status not in ('succeeded', 'canceled');

create index on till.payments (customer_id, created_at, id);
-- Payments of the API and of subscriptions have separate indexes, so that many of one kind do not slow down the list of
-- the other.
create index payments_made_idx on till.payments (created_at, id) where processor_invoice_id is null;
create index payments_charged_idx on till.payments (created_at, id) where processor_invoice_id is not null;
create index payments_subscription_idx on till.payments (processor_subscription_id, created_at, id)
  where processor_invoice_id is not null;

-- Facets: columns with few different values together. A list walks the rows of each of these values that it selects,
-- in the order of the list. So one index serves every combination of filters on its columns. See
-- docs/decisions/0022-lists.md. The place of nulls makes each of these indexes the only one in its order, so that
-- PostgreSQL 15 to 17 can use it with equalities. No column has nulls.
create index payments_facet_idx on till.payments (currency, status, marks, created_at nulls first, id) include (amount);
create index payments_detail_idx on till.payments (detail, currency, status, marks, created_at nulls first, id)
  include (amount) where detail is not null;
create index payments_amount_idx on till.payments (currency, status, marks, amount nulls first, created_at, id);
create index payments_detail_amount_idx on till.payments (detail, currency, status, marks, amount nulls first, created_at, id)
  where detail is not null;

-- Without the id: few payments by the same card number are created at the same time, so PostgreSQL sorts them by their
-- id.
create index payments_last4_idx on till.payments ((payment_method ->> 'last4'), created_at)
  where payment_method is not null;

-- A charge has no row: its payment contains its id. Only equal ids are looked up. An entry has four bytes of a hash
-- instead of the id.
create index payments_charge_idx on till.payments using hash (processor_charge_id) where processor_charge_id is not null;

-- Disputes that need a response, by their deadline. Other payments do not enter this index.
create index payments_dispute_due_idx on till.payments ((dispute ->> 'evidenceDueBy'), id)
  where dispute ->> 'status' in ('needs_response', 'warning_needs_response');

-- The list shows the payments that were created through the API.
create function till.count_inserted_payments() returns trigger language plpgsql as $$
begin
  perform till.add_to_list_count('payments', (select count(*) from inserted where processor_invoice_id is null));
  return null;
end $$;

create trigger count_inserted after insert on till.payments
  referencing new table as inserted for each statement execute function till.count_inserted_payments();

create trigger refuse_metadata_of_deleted before insert or update on till.payments
  for each row when (new.metadata <> '{}') execute function till.refuse_metadata_of_deleted();

create table till.refunds (
  id uuid primary key,
  -- Null while a refund is reserved and the processor has not responded yet.
  processor_refund_id text unique,
  payment_id uuid not null references till.payments,
  amount bigint not null check (amount >= 1),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  status text not null check (status in ('pending', 'requires_action', 'succeeded', 'failed', 'canceled')),
  reason text check (reason in ('duplicate', 'fraudulent', 'requested_by_customer')),
  -- A release gives back what was authorised and not captured. It counts nowhere.
  kind text not null check (kind in ('refund', 'release')),
  processor_as_of timestamptz not null,
  processor_as_of_latest timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0
);

create index on till.refunds (payment_id, created_at, id);
create index refunds_created_idx on till.refunds (created_at, id)
  where processor_refund_id is not null and kind = 'refund';
create index refunds_release_idx on till.refunds (created_at, id)
  where processor_refund_id is not null and kind = 'release';
create index refunds_facet_idx on till.refunds (currency, status, kind, created_at nulls first, id)
  where processor_refund_id is not null;
