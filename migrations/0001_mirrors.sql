-- The resources. Each row mirrors one object of the processor; processor_as_of is the processor's time of what the row
-- last took in (whole seconds), which is how late news is told from new; revision rises with every change, which is how an
-- answer to a question tells whether the row has moved since it was asked.
set local lock_timeout = '5s';

create table till.customers (
  id uuid primary key,
  processor_customer_id text not null unique,
  -- Erased when the customer is deleted; the row itself stays, because payments and webhooks still refer to it.
  email text,
  name text,
  phone text,
  deleted_at timestamptz,
  processor_as_of timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0,
  check (email is not null or deleted_at is not null),
  check (deleted_at is null or (email is null and name is null and phone is null))
);
create index on till.customers (created_at, id) where deleted_at is null;

create table till.plans (
  id uuid primary key,
  processor_product_id text not null unique,
  processor_price_id text not null unique,
  name text not null,
  amount bigint not null check (amount >= 0),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  interval text not null check (interval in ('day', 'week', 'month', 'year')),
  -- A plan is a product and a price, archived together by us but apart by others: it is active while both are.
  product_active boolean not null,
  price_active boolean not null,
  active boolean not null generated always as (product_active and price_active) stored,
  product_as_of timestamptz not null,
  price_as_of timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0
);
create index on till.plans (created_at, id);

create table till.payments (
  id uuid primary key,
  processor_payment_intent_id text not null unique,
  customer_id uuid not null references till.customers,
  amount bigint not null check (amount >= 0),
  amount_received bigint not null default 0 check (amount_received >= 0),
  -- The sum of the refunds that did not fail.
  amount_refunded bigint not null default 0 check (amount_refunded >= 0),
  -- The sum of those that are being asked for, and of which the processor has not been heard yet.
  amount_reserved bigint not null default 0 check (amount_reserved >= 0),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  -- What the processor says of its payment intent.
  intent_status text not null check (
    intent_status in ('requires_payment_method', 'requires_confirmation', 'requires_action', 'processing', 'succeeded', 'canceled')
  ),
  -- What we say: "refunded" follows from the refunds and is never set on its own.
  status text not null generated always as (
    case
      when intent_status = 'succeeded' and amount_received > 0 and amount_refunded >= amount_received then 'refunded'
      else intent_status
    end
  ) stored,
  processor_as_of timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0
);
create index on till.payments (created_at, id);
create index on till.payments (customer_id, created_at, id);

create table till.refunds (
  id uuid primary key,
  -- Null while a refund of ours is reserved and the processor has not been heard of it yet.
  processor_refund_id text unique,
  payment_id uuid not null references till.payments,
  amount bigint not null check (amount >= 1),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  status text not null check (status in ('pending', 'requires_action', 'succeeded', 'failed', 'canceled')),
  reason text check (reason in ('duplicate', 'fraudulent', 'requested_by_customer')),
  processor_as_of timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0
);
create index on till.refunds (payment_id, created_at, id);

create table till.subscriptions (
  id uuid primary key,
  processor_subscription_id text not null unique,
  customer_id uuid not null references till.customers,
  plan_id uuid not null references till.plans,
  status text not null check (
    status in ('incomplete', 'incomplete_expired', 'trialing', 'active', 'past_due', 'unpaid', 'canceled')
  ),
  current_period_start timestamptz,
  current_period_end timestamptz,
  trial_end timestamptz,
  processor_as_of timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0
);
create index on till.subscriptions (created_at, id);
create index on till.subscriptions (customer_id, created_at, id);

create table till.invoices (
  id uuid primary key,
  processor_invoice_id text not null unique,
  -- Null when the processor's customer is none of ours.
  customer_id uuid references till.customers,
  processor_customer_id text,
  processor_subscription_id text,
  amount_due bigint not null,
  amount_paid bigint not null,
  currency text not null check (currency ~ '^[a-z]{3}$'),
  status text not null check (status in ('draft', 'open', 'paid', 'uncollectible', 'void')),
  hosted_invoice_url text,
  processor_as_of timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0
);
create index on till.invoices (created_at, id);
create index on till.invoices (customer_id, created_at, id);

-- How many rows a whole list has: counting five million of them takes a third of a second, adding these up a fraction of a
-- millisecond. A counter has 32 shards, so that writers seldom wait for each other; a connection always uses the same
-- one, because two that picked at random could deadlock.
create table till.list_counts (
  resource text not null,
  shard smallint not null,
  count bigint not null,
  primary key (resource, shard)
) with (fillfactor = 50);

create function till.add_to_list_count(resource text, delta bigint) returns void language sql as $$
  insert into till.list_counts as counts (resource, shard, count)
  select resource, pg_backend_pid() % 32, delta where delta <> 0
  on conflict on constraint list_counts_pkey do update set count = counts.count + excluded.count
$$;

create function till.count_inserted() returns trigger language plpgsql as $$
begin
  perform till.add_to_list_count(tg_table_name, (select count(*) from inserted));
  return null;
end $$;

create trigger count_inserted after insert on till.customers
  referencing new table as inserted for each statement execute function till.count_inserted();
create trigger count_inserted after insert on till.payments
  referencing new table as inserted for each statement execute function till.count_inserted();
create trigger count_inserted after insert on till.subscriptions
  referencing new table as inserted for each statement execute function till.count_inserted();
create trigger count_inserted after insert on till.invoices
  referencing new table as inserted for each statement execute function till.count_inserted();

-- A deleted customer leaves the list. Rows of the other resources are never deleted.
create function till.count_soft_deleted() returns trigger language plpgsql as $$
begin
  perform till.add_to_list_count('customers',
    (select count(*) from after where deleted_at is null) - (select count(*) from before where deleted_at is null));
  return null;
end $$;

create trigger count_soft_deleted after update on till.customers
  referencing old table as before new table as after for each statement execute function till.count_soft_deleted();
