-- Resends of events, the deliveries of one event, and the reasons of cancellations.
set local lock_timeout = '5s';

-- Resends that wait for an attempt: events that are sent to an endpoint again, outside the order of their objects. Each
-- event has at most one per endpoint. Events of the same object do not wait behind it.
create table till.event_resends (
  endpoint_id uuid not null,
  position bigint not null,
  event_created_at timestamptz not null,
  id uuid not null,
  object_id uuid not null,
  customer_id uuid,
  attempt integer not null,
  next_attempt_at timestamptz not null,
  -- Null before the first attempt has failed.
  give_up_at timestamptz,
  response_status integer,
  response_body text,
  duration_ms integer,
  created_at timestamptz not null,
  primary key (endpoint_id, position)
) with (fillfactor = 80);
create index on till.event_resends (endpoint_id, next_attempt_at);
create index on till.event_resends (endpoint_id, id);
create index on till.event_resends (customer_id) where response_body is not null and customer_id is not null;

-- Changes with every resend, so that the owner of the lease looks for it.
alter table till.event_endpoints add column resend_revision integer not null default 0;

-- A failed delivery whose event was sent to the endpoint again. The new attempts have a delivery of their own.
alter table till.event_deliveries add column resent boolean not null default false;

-- Few deliveries fail, so these cost the others nothing.
create index on till.event_deliveries (endpoint_id, id) where not succeeded;
create index on till.event_deliveries (endpoint_id, position) where not succeeded and not resent;

-- Finds the deliveries of one event. Positions grow with the table, except for retries and replays, so a summary of each
-- 16 pages is enough. An index of all rows would make each delivery dearer.
create index on till.event_deliveries using brin (position int8_minmax_multi_ops)
  with (pages_per_range = 16, autosummarize = on);

-- Why the subscription was canceled, in free text. Null if it is not canceled, if the reason is unknown, or once it is
-- erased.
alter table till.subscriptions add column cancellation_reason text;

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
