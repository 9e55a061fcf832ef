-- Subscriptions: a main plan, with add-ons that are billed on the same invoice.
set local lock_timeout = '5s';

create table till.subscriptions (
  id uuid primary key,
  processor_subscription_id text not null unique,
  customer_id uuid not null references till.customers,
  plan_id uuid not null references till.plans,
  quantity bigint not null default 1,
  -- The processor's id of the item whose plan is the main plan. Another item does not take its place while it is there.
  processor_main_item_id text not null,
  -- [{ planId, quantity }], in the order of planId.
  add_ons jsonb not null default '[]',
  -- What the processor bills in this subscription that is not a Till plan: [{ processorPriceId, quantity, description
  -- }], in the order of processorPriceId.
  other_items jsonb not null default '[]',
  status text not null check (
    status in ('incomplete', 'incomplete_expired', 'trialing', 'active', 'past_due', 'unpaid', 'canceled')
  ),
  current_period_start timestamptz,
  current_period_end timestamptz,
  trial_end timestamptz,
  -- The plans to which the subscription has had a trial, for trialOnce. trial_end stays when a trial ends and when the
  -- plan changes, so it does not say which plan the trial was for. A change of the plan during a trial counts for both
  -- plans. Null until the status, the plan or the end of the trial changes. Until then, a trial was for the current
  -- plan.
  trial_plan_ids uuid[],
  cancel_at_period_end boolean not null default false,
  cancel_at timestamptz,
  canceled_at timestamptz,
  ended_at timestamptz,
  -- Why the subscription was canceled, in free text. Null if it is not canceled, if the reason is unknown, or once it
  -- is erased.
  cancellation_reason text,
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
  -- Added to the starts of the subscription's usage windows, in microseconds.
  window_number integer not null default 0,
  processor_as_of timestamptz not null,
  processor_as_of_latest timestamptz not null,
  checked_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revision integer not null default 0
) with (fillfactor = 85);

create index on till.subscriptions (current_period_end) where status not in ('canceled', 'incomplete_expired');

create index on till.subscriptions (created_at, id);
create index on till.subscriptions (customer_id, created_at, id);
create index subscriptions_status_idx on till.subscriptions (status, created_at, id);
-- Neither a plan nor a status is selective, so there is an index for both together. They are facets, as for payments.
create index subscriptions_plan_status_idx on till.subscriptions (plan_id, status, created_at nulls first, id);

-- Few subscriptions have a pending change. A plan that one of them changes to is in use.
create index on till.subscriptions (id) where pending_change is not null;

create trigger count_inserted after insert on till.subscriptions
  referencing new table as inserted for each statement execute function till.count_inserted();

create trigger refuse_metadata_of_deleted before insert or update on till.subscriptions
  for each row when (new.metadata <> '{}') execute function till.refuse_metadata_of_deleted();

-- A row of a deleted customer gets no reason, however late the facts arrive.
create function till.refuse_reason_of_deleted() returns trigger language plpgsql as $$
begin
  if exists (select from till.customers where id = new.customer_id and deleted_at is not null) then
    new.cancellation_reason := null;
    -- Shows that the row has lost its personal data, so that it takes none again.
    new.metadata := null;
  end if;
  return new;
end $$;

create trigger refuse_reason_of_deleted before insert or update on till.subscriptions
  for each row when (new.cancellation_reason is not null) execute function till.refuse_reason_of_deleted();

create function till.remember_trials() returns trigger language plpgsql as $$
declare
  had uuid[] := coalesce(
    old.trial_plan_ids, case when old.trial_end is null then '{}' else array[old.plan_id] end);
begin
  -- A trial that began and ended unnoticed was for the plan that the subscription has now, as far as is known.
  if new.trial_end is not null and (new.status = 'trialing' or old.trial_end is null)
    and not new.plan_id = any (had)
  then
    had := had || new.plan_id;
  end if;
  new.trial_plan_ids := had;
  return new;
end $$;

-- Subscriptions without a trial cost nothing here.
create trigger remember_trials before update on till.subscriptions
  for each row when ((old.trial_end is not null or new.trial_end is not null)
    and (old.plan_id, old.status, old.trial_end) is distinct from (new.plan_id, new.status, new.trial_end))
  execute function till.remember_trials();

-- The subscriptions that have a plan as an add-on, for the filter of the list. A trigger keeps it equal to add_ons.
-- The main plan and the status of the subscription are facets here too.
create table till.subscription_add_ons (
  plan_id uuid not null references till.plans,
  main_plan_id uuid not null,
  status text not null,
  created_at timestamptz not null,
  subscription_id uuid not null references till.subscriptions,
  primary key (plan_id, main_plan_id, status, created_at, subscription_id)
);
create index on till.subscription_add_ons (subscription_id);

create function till.list_add_ons() returns trigger language plpgsql as $$
begin
  delete from till.subscription_add_ons where subscription_id = new.id;
  -- Two items with the same plan must not stop the event that shows them.
  insert into till.subscription_add_ons (plan_id, main_plan_id, status, created_at, subscription_id)
    select (add_on ->> 'planId')::uuid, new.plan_id, new.status, new.created_at, new.id
    from jsonb_array_elements(new.add_ons) as add_on
    on conflict do nothing;
  return null;
end $$;

-- Most changes of a subscription leave its add-ons alone, and cost nothing here.
create trigger list_new_add_ons after insert on till.subscriptions
  for each row when (new.add_ons <> '[]') execute function till.list_add_ons();
create trigger list_changed_add_ons after update on till.subscriptions
  for each row when ((new.add_ons <> '[]' or old.add_ons <> '[]')
    and (new.add_ons, new.plan_id, new.status) is distinct from (old.add_ons, old.plan_id, old.status))
  execute function till.list_add_ons();

-- One live subscription per customer and plan group. A request reserves the group before it calls the processor, and
-- the primary key decides between concurrent requests. The reservation ends in the transaction that writes the
-- subscription's row: from then on the row shows that the group is taken. So this table has rows only while a request
-- is in progress, or until an abandoned one is resolved.
create table till.group_reservations (
  customer_id uuid not null,
  group_name text not null,
  -- The subscription that will get a plan of the group. Its claims run one after the other, so a claim can take over
  -- the reservation of an abandoned one.
  subscription_id uuid not null,
  -- The claim, or the open checkout, that holds the group. A subscription checkout holds the group of its plan from
  -- before the processor is called until it is completed or expired. Its id was the id of its claim.
  claim_id uuid not null,
  primary key (customer_id, group_name)
);
create index on till.group_reservations (claim_id);

-- Writes to one subscription happen one after the other, across processes. A write can take several calls to the
-- processor, and each call depends on the calls before it: two identical changes at once would bill a period twice.

-- The writer whose turn it is. It calls the processor only while its lease lasts longer than the call can take. If the
-- lease has expired, the writer's process died or is stuck, and the next writer takes the turn over.
create table till.subscription_turns (
  subscription_id uuid primary key,
  writer_id uuid not null,
  -- The claim of the write, if it has one. The same request may resume it.
  claim_id uuid,
  -- The process of the writer.
  owner integer not null,
  leased_until timestamptz not null,
  -- An earlier writer did not end its turn, so its claim must be resolved first.
  is_taken_over boolean not null default false
);

-- The waiting writers. Each renews its lease while it waits, so that a dead one delays the others only briefly.
create table till.subscription_queue (
  writer_id uuid primary key,
  subscription_id uuid not null,
  -- The order of arrival.
  ticket bigint generated by default as identity,
  -- A cancellation goes before all other waiting writers.
  goes_first boolean not null,
  claim_id uuid,
  owner integer not null,
  leased_until timestamptz not null
);
create index on till.subscription_queue (subscription_id, goes_first desc, ticket);
