-- Several plans in one subscription: a main plan, with add-ons that are billed on the same invoice.
set local lock_timeout = '5s';

-- An add-on is sold only together with a main plan. The metadata of the price also says it, so that a restore finds it.
alter table till.plans add column add_on boolean not null default false;

alter table till.subscriptions
  -- [{ planId, quantity }], in the order of planId.
  add column add_ons jsonb not null default '[]',
  -- What the processor bills in this subscription that is not a Till plan: [{ processorPriceId, quantity, description }],
  -- in the order of processorPriceId.
  add column other_items jsonb not null default '[]',
  -- The processor's id of the item whose plan is the main plan. Another item does not take its place while it is there.
  -- Null until the next facts of a subscription that was recorded before this column.
  add column processor_main_item_id text;

-- The subscriptions that have a plan as an add-on, for the filter of the list. A trigger keeps it equal to add_ons.
create table till.subscription_add_ons (
  plan_id uuid not null references till.plans,
  created_at timestamptz not null,
  subscription_id uuid not null references till.subscriptions,
  primary key (plan_id, created_at, subscription_id)
);
create index on till.subscription_add_ons (subscription_id);

create function till.list_add_ons() returns trigger language plpgsql as $$
begin
  delete from till.subscription_add_ons where subscription_id = new.id;
  -- Two items with the same plan must not stop the event that shows them.
  insert into till.subscription_add_ons (plan_id, created_at, subscription_id)
    select (add_on ->> 'planId')::uuid, new.created_at, new.id from jsonb_array_elements(new.add_ons) as add_on
    on conflict do nothing;
  return null;
end $$;

-- Most changes of a subscription leave its add-ons alone, and cost nothing here.
create trigger list_new_add_ons after insert on till.subscriptions
  for each row when (new.add_ons <> '[]') execute function till.list_add_ons();
create trigger list_changed_add_ons after update on till.subscriptions
  for each row when (new.add_ons is distinct from old.add_ons) execute function till.list_add_ons();

-- Few subscriptions have a pending change. A plan that one of them changes to is in use.
create index on till.subscriptions (id) where pending_change is not null;
