-- The resources. Each row mirrors one object of the processor. Columns that several tables share:
--
-- processor_as_of and processor_as_of_latest: the earliest and the latest second at which the last facts of the row
--   were true. For an event both are the second of the event. For a response of the processor they are the seconds of
--   its request and its arrival. So Till can tell late facts from new ones.
-- revision: increases with every change, so that Till can tell whether the row has changed since a request was sent.
-- metadata: the application's own values, without the metadata keys that Till reserves for itself.
-- checked_at: when a row that is not final was last compared with the processor.
--
-- Pages have room for updates (fillfactor), so that an update that changes no indexed column writes no index entries.
set local lock_timeout = '5s';

create table till.customers (
  id uuid primary key,
  processor_customer_id text not null unique,
  -- Erased when the customer is deleted. The row itself stays, because payments and webhooks still refer to it.
  email text,
  name text,
  phone text,
  -- The application's own id of the customer. See till.external_ids.
  external_id text,
  metadata jsonb not null default '{}',
  deleted_at timestamptz,
  -- When Till searches the events of a deleted customer for personal data next. Null when the search is done. Due from
  -- the start, so that a statement that deletes a customer does not have to set it.
  erase_at timestamptz default now(),
  -- When the events of a deleted customer were first searched, by the database's clock. A second search follows later.
  first_erased_at timestamptz,
  processor_as_of timestamptz not null,
  processor_as_of_latest timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0,
  check (email is not null or deleted_at is not null),
  check (deleted_at is null or (email is null and name is null and phone is null))
);
create index on till.customers (erase_at) where deleted_at is not null and erase_at is not null;

-- Which customer has an external id. The primary key decides between concurrent requests before the processor is
-- called. claim_id is the claim that reserves the external id for a customer whose row does not have it yet. It is null
-- once the row has it. A separate table, so that a reservation needs no customer row.
create table till.external_ids (
  external_id text primary key,
  customer_id uuid not null,
  claim_id uuid
);
create index on till.external_ids (customer_id);
create index on till.external_ids (claim_id) where claim_id is not null;

create table till.plans (
  id uuid primary key,
  -- Products that Till did not create can have several prices. Each price is a plan.
  processor_product_id text not null,
  processor_price_id text not null unique,
  name text not null,
  metadata jsonb not null default '{}',
  amount bigint not null check (amount >= 0),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  interval text not null check (interval in ('day', 'week', 'month', 'year')),
  interval_count integer not null default 1 check (interval_count >= 1),
  -- What the plan gives to its subscribers: { name: boolean, integer or text }. The metadata of the product also
  -- contains the features and the group, so that a restore finds them.
  features jsonb not null default '{}',
  -- A customer has one live subscription to the plans of a group.
  group_name text,
  -- Whether checkouts sell a plan without a group to a customer who has it already. Contained in the metadata of the
  -- price. The default is for plans that are older than this column.
  repeatable boolean not null default true,
  -- Till archives a plan's product and price together, but others may archive only one. The plan is active while both
  -- are.
  product_active boolean not null,
  price_active boolean not null,
  active boolean not null generated always as (product_active and price_active) stored,
  product_as_of timestamptz not null,
  product_as_of_latest timestamptz not null,
  price_as_of timestamptz not null,
  price_as_of_latest timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0
);
create index on till.plans (processor_product_id);

-- Payments that were created through the API, and those that subscriptions charged.
create table till.payments (
  id uuid primary key,
  processor_payment_intent_id text not null unique,
  customer_id uuid not null references till.customers,
  -- For a payment that a subscription charged: the processor's ids of its invoice and of that invoice's subscription.
  -- The row of the invoice may be written later. Null for payments that were created through the API.
  processor_invoice_id text,
  processor_subscription_id text,
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
  revision integer not null default 0
) with (fillfactor = 85);
create index on till.payments (created_at) where intent_status not in ('succeeded', 'canceled');

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

create table till.subscriptions (
  id uuid primary key,
  processor_subscription_id text not null unique,
  customer_id uuid not null references till.customers,
  plan_id uuid not null references till.plans,
  quantity bigint not null default 1,
  status text not null check (
    status in ('incomplete', 'incomplete_expired', 'trialing', 'active', 'past_due', 'unpaid', 'canceled')
  ),
  current_period_start timestamptz,
  current_period_end timestamptz,
  trial_end timestamptz,
  cancel_at_period_end boolean not null default false,
  cancel_at timestamptz,
  canceled_at timestamptz,
  ended_at timestamptz,
  -- The processor's id, because the invoice may have no row yet.
  processor_latest_invoice_id text,
  default_payment_method_id text,
  -- The first discount: { processorDiscountId, code, percentOff, amountOff, currency, endsAt }.
  discount jsonb,
  -- { planId, quantity, at }. at is null for a change that waits until the customer authenticates.
  pending_change jsonb,
  -- True while the row is built from an event that does not show the discount or the scheduled change. A read of the
  -- subscription completes it.
  is_incomplete boolean not null default false,
  -- Null once it is erased. No later facts set it again.
  metadata jsonb default '{}',
  processor_as_of timestamptz not null,
  processor_as_of_latest timestamptz not null,
  checked_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0
) with (fillfactor = 85);
create index on till.subscriptions (current_period_end) where status not in ('canceled', 'incomplete_expired');

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
) with (fillfactor = 85);
-- Invoices that were stored before their customer. When the customer is recovered, this index finds them.
create index invoices_without_customer on till.invoices (processor_customer_id) where customer_id is null;

-- Deleted customers. Triggers erase the data, so that every statement that deletes a customer does it. The store erases
-- the metadata of its payments and subscriptions, because an event is written for each of them.

-- A deleted customer keeps no personal data.
create function till.erase_external_id() returns trigger language plpgsql as $$
begin
  new.external_id := null;
  new.metadata := '{}';
  delete from till.external_ids where customer_id = new.id;
  return new;
end $$;

create trigger erase_external_id before update on till.customers
  for each row when (old.deleted_at is null and new.deleted_at is not null) execute function till.erase_external_id();

-- A row of a deleted customer gets no metadata, however late the facts arrive.
create function till.refuse_metadata_of_deleted() returns trigger language plpgsql as $$
begin
  if exists (select from till.customers where id = new.customer_id and deleted_at is not null) then
    new.metadata := null;
  end if;
  return new;
end $$;

create trigger refuse_metadata_of_deleted before insert or update on till.payments
  for each row when (new.metadata <> '{}') execute function till.refuse_metadata_of_deleted();
create trigger refuse_metadata_of_deleted before insert or update on till.subscriptions
  for each row when (new.metadata <> '{}') execute function till.refuse_metadata_of_deleted();
