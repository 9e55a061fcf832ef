-- Lists that stay fast with any number of rows, for every pair of filters: see docs/decisions/0070-facets.md. New columns
-- rewrite the payments, so this takes minutes for millions of them.
set local lock_timeout = '5s';

-- First, so that the rewrite does not build them again.
drop index till.payments_status_idx;
drop index till.payments_made_status_idx;
drop index till.payments_charged_status_idx;
drop index till.payments_currency_idx;
drop index till.payments_failed_idx;
drop index till.payments_refunded_idx;
drop index till.payments_disputed_idx;
drop index till.payments_amount_idx;
drop index till.payments_charge_idx;
drop index till.refunds_status_idx;
drop index till.refunds_currency_idx;
drop index till.subscriptions_plan_idx;

alter table till.payments
  -- What filters ask about a payment, added up: 1 a subscription charged it; 2 the last attempt failed; 4 some of it was
  -- refunded; 8 it was disputed.
  add column marks smallint not null generated always as (
    ((processor_invoice_id is not null)::integer
      + 2 * (failure is not null and intent_status <> 'succeeded')::integer
      + 4 * (amount_refunded > 0)::integer
      + 8 * (dispute is not null)::integer)::smallint
  ) stored,
  -- Of a payment that failed or was disputed: the code and the decline code of the failure, and the status of the dispute,
  -- each in a line. Cut, because an entry of an index has a limited size.
  add column detail text generated always as (
    case when dispute is not null or (failure is not null and intent_status <> 'succeeded') then
      case when failure is not null and intent_status <> 'succeeded' then
        left(coalesce(failure ->> 'code', ''), 200) || chr(10) || left(coalesce(failure ->> 'declineCode', ''), 200)
      else chr(10) end
      || chr(10) || left(coalesce(dispute ->> 'status', ''), 200)
    end
  ) stored;

-- Facets: columns with few different values together. A list walks the rows of each of these values that it selects, in
-- the order of the list. So one index serves every combination of filters on its columns.
create index payments_facet_idx on till.payments (currency, status, marks, created_at, id) include (amount);
create index payments_detail_idx on till.payments (detail, currency, status, marks, created_at, id) include (amount)
  where detail is not null;
create index refunds_facet_idx on till.refunds (currency, status, created_at, id) where processor_refund_id is not null;
-- The facets of subscriptions are those of till.subscriptions_plan_status_idx.

-- As before, with the facets instead of the wide columns that they follow from.
create index payments_amount_idx on till.payments (amount, created_at, id) include (currency, status, marks);
-- Only equal ids are looked up. An entry has four bytes of a hash instead of the id.
create index payments_charge_idx on till.payments using hash (processor_charge_id) where processor_charge_id is not null;

-- The main plan and the status of the subscription, which are facets of the links too.
-- No change of a subscription may have called the earlier function: it would find the table of the later one.
lock table till.subscriptions in access exclusive mode;
alter table till.subscription_add_ons
  add column main_plan_id uuid,
  add column status text;
update till.subscription_add_ons set main_plan_id = subscriptions.plan_id, status = subscriptions.status
  from till.subscriptions where id = subscription_id;
alter table till.subscription_add_ons
  alter column main_plan_id set not null,
  alter column status set not null,
  drop constraint subscription_add_ons_pkey,
  add primary key (plan_id, main_plan_id, status, created_at, subscription_id);

create or replace function till.list_add_ons() returns trigger language plpgsql as $$
begin
  delete from till.subscription_add_ons where subscription_id = new.id;
  -- Two items with the same plan must not stop the event that shows them.
  insert into till.subscription_add_ons (plan_id, main_plan_id, status, created_at, subscription_id)
    select (add_on ->> 'planId')::uuid, new.plan_id, new.status, new.created_at, new.id
    from jsonb_array_elements(new.add_ons) as add_on
    on conflict do nothing;
  return null;
end $$;

drop trigger list_changed_add_ons on till.subscriptions;
create trigger list_changed_add_ons after update on till.subscriptions
  for each row when ((new.add_ons <> '[]' or old.add_ons <> '[]')
    and (new.add_ons, new.plan_id, new.status) is distinct from (old.add_ons, old.plan_id, old.status))
  execute function till.list_add_ons();
