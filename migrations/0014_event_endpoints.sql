-- Endpoints of applications: where Till sends events, and the deliveries of each event.
set local lock_timeout = '5s';

-- Each event up to `position` is delivered, has failed, or waits. If it waits, it or an earlier event of the same
-- object has a row in till.event_retries. `secret` is encrypted if the operator configured an encryption key.
create table till.event_endpoints (
  id uuid primary key,
  url text not null,
  types text[],
  description text,
  enabled boolean not null default true,
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('request', 'failing')),
  secret text not null,
  -- Replaced secrets, newest first: [{ "secret": ..., "validUntil": ... }]. Each one stays valid for a day after it was
  -- replaced. Together with the current secret, at most five are valid.
  replaced_secrets jsonb not null default '[]' check (jsonb_array_length(replaced_secrets) <= 4),
  position bigint not null,
  -- The first failure since the last success.
  failing_since timestamptz,
  -- Changes when `position` goes back, so that the owner of the lease does not overwrite it.
  revision integer not null default 0,
  -- Changes with every resend, so that the owner of the lease looks for it.
  resend_revision integer not null default 0,
  -- The owner of the lease delivers. There is one at a time.
  owner integer,
  leased_until timestamptz not null default now(),
  -- The history in which the lease was taken, as in till.jobs.
  history bigint,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (enabled = (disabled_at is null) and enabled = (disabled_reason is null))
) with (fillfactor = 50);

-- Deliveries that wait for an attempt: for each object at most one per endpoint, for its oldest event that is neither
-- delivered nor failed. Later events of the object wait behind it without rows.
create table till.event_retries (
  endpoint_id uuid not null,
  object_id uuid not null,
  id uuid not null,
  position bigint not null,
  event_created_at timestamptz not null,
  customer_id uuid,
  attempt integer not null,
  next_attempt_at timestamptz not null,
  -- Null before the first attempt has failed.
  give_up_at timestamptz,
  response_status integer,
  response_body text,
  duration_ms integer,
  created_at timestamptz not null,
  primary key (endpoint_id, object_id)
) with (fillfactor = 80);
create index on till.event_retries (endpoint_id, next_attempt_at);
create index on till.event_retries (customer_id) where response_body is not null and customer_id is not null;

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

-- Finished deliveries, for the list. Rows are only added, and dropped by whole weeks.
create table till.event_deliveries (
  endpoint_id uuid not null,
  id uuid not null,
  position bigint not null,
  event_created_at timestamptz not null,
  customer_id uuid,
  attempt integer not null,
  succeeded boolean not null,
  response_status integer,
  response_body text,
  duration_ms integer,
  -- A failed delivery whose event was sent to the endpoint again. The new attempts have a delivery of their own.
  resent boolean not null default false,
  created_at timestamptz not null,
  primary key (endpoint_id, id, created_at)
) partition by range (created_at);
create index on till.event_deliveries (customer_id) where response_body is not null and customer_id is not null;
create table till.event_deliveries_other partition of till.event_deliveries default;

-- Few deliveries fail, so these cost the others nothing.
create index on till.event_deliveries (endpoint_id, id) where not succeeded;
create index on till.event_deliveries (endpoint_id, position) where not succeeded and not resent;

-- Finds the deliveries of one event. Positions grow with the table, except for retries and replays, so a summary of
-- each 16 pages is enough. An index of all rows would make each delivery dearer.
create index on till.event_deliveries using brin (position int8_minmax_multi_ops)
  with (pages_per_range = 16, autosummarize = on);

-- Drops a week. Fails with lock_not_available instead of waiting long for the lock.
create function till.drop_delivery_week(week text) returns void
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
begin
  if week !~ '^event_deliveries_[0-9]{8}$' then
    raise exception '% is not a week of deliveries', week;
  end if;
  perform till.lock_weeks('event_deliveries');
  -- Another process may have dropped it by now.
  if to_regclass('till.' || week) is not null then
    execute format('drop table till.%I', week);
  end if;
end $$;

revoke execute on function till.drop_delivery_week from public;

select till.make_weeks('event_deliveries', now() - interval '1 week', now() + interval '4 weeks');
