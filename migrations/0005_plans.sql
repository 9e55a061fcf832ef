-- Plans: what subscriptions bill, and what they give access to.
set local lock_timeout = '5s';

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
  -- price.
  repeatable boolean not null default false,
  -- An add-on is sold only together with a main plan. The metadata of the price also says it, so that a restore finds
  -- it.
  add_on boolean not null default false,
  -- Whether a plan is an add-on changes only while nothing has the plan. The claim that changes it is here while it is
  -- open, so that no other request gives the plan to a subscription meanwhile.
  add_on_claim_id uuid,
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
  revision integer not null default 0,
  searched text generated always as (' ' || till.searchable(name)) stored
);

create index on till.plans (processor_product_id);
create index on till.plans (created_at, id);
