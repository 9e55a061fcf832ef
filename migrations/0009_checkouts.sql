-- Checkouts: pages of the processor on which customers subscribe, pay or save a card.
set local lock_timeout = '5s';

create table till.checkouts (
  -- The id of the subscription or the payment that results is derived from it.
  id uuid primary key,
  processor_checkout_session_id text not null unique,
  customer_id uuid not null references till.customers,
  mode text not null check (mode in ('subscription', 'payment', 'setup')),
  -- "completed" and "expired" are final.
  status text not null check (status in ('open', 'completed', 'expired')),
  payment_status text not null check (payment_status in ('unpaid', 'paid', 'notRequired')),
  plan_id uuid references till.plans,
  quantity bigint,
  -- [{ planId, quantity }], in the order of planId.
  add_ons jsonb not null default '[]',
  -- What the buyer gets. Null if there is no trial.
  trial_period_days integer,
  -- The total. Null if only a card is saved.
  amount bigint check (amount >= 0),
  currency text check (currency ~ '^[a-z]{3}$'),
  -- Null until the checkout is completed. The rows are written before it is.
  subscription_id uuid,
  payment_id uuid,
  payment_method_id text,
  -- A digest of everything that the buyer is offered. A request with the same terms gets the open checkout again.
  terms text not null,
  expires_at timestamptz not null,
  completed_at timestamptz,
  -- Null once it is erased. No later facts set it again.
  metadata jsonb default '{}',
  processor_as_of timestamptz not null,
  processor_as_of_latest timestamptz not null,
  checked_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0,
  check ((mode = 'subscription') = (plan_id is not null)),
  check (status = 'completed' or (subscription_id is null and payment_id is null and payment_method_id is null))
) with (fillfactor = 85);

create index on till.checkouts (created_at, id);
create index on till.checkouts (customer_id, created_at, id);
create index checkouts_status_idx on till.checkouts (status, created_at, id);
-- Few checkouts are open: those that recovery compares with the processor, and the plans that are in use.
create index checkouts_open_idx on till.checkouts (expires_at) where status = 'open';

create trigger count_inserted after insert on till.checkouts
  referencing new table as inserted for each statement execute function till.count_inserted();
create trigger refuse_metadata_of_deleted before insert or update on till.checkouts
  for each row when (new.metadata <> '{}') execute function till.refuse_metadata_of_deleted();
