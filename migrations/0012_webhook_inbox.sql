-- The inbox of webhooks, which is also the queue: one insert deduplicates and enqueues. It is partitioned by the week
-- in which the processor created the event. So the indexes that inserts use stay small however many events there are,
-- and old weeks are dropped as a whole. An event id always comes with the same time, so the primary key still finds
-- every duplicate. Events with times outside the existing weeks go to the default partition.
set local lock_timeout = '5s';

create table till.webhook_events (
  -- The processor's id of the event.
  id text not null,
  type text not null,
  -- The object that the event is about. Null if there is none.
  object_id text,
  -- The customer of a payment or subscription whose event contains metadata, so that a deletion finds the event. Null
  -- for all other events.
  customer_key text,
  created_at timestamptz not null,
  api_version text,
  -- JSON without secrets. Text, because jsonb rejects some valid JSON.
  payload text not null,
  -- What a deletion has to erase. 'customer': the email address, name and phone, or the metadata, of a customer.
  -- 'none': no personal data. 'unchecked': must be searched again.
  personal_data text not null default 'unchecked' check (personal_data in ('unchecked', 'customer', 'none')),
  state text not null check (state in ('pending', 'processed', 'ignored', 'failed')),
  attempts smallint not null default 0,
  next_try_at timestamptz not null,
  last_error text,
  received_at timestamptz not null,
  -- When the event first took effect. A replay does not change it, so that no effect is counted twice.
  processed_at timestamptz,
  primary key (id, created_at)
) partition by range (created_at);

create index on till.webhook_events (next_try_at) where state = 'pending';
create index on till.webhook_events (object_id, created_at);
-- The list of events and its filters. Each event enters every index twice, so there are few: the whole list is that of
-- its four states. The index by type leaves out pending events, so that an event enters it only once, when it is
-- settled. Pending events of one type are found by their state.
create index webhook_events_state_idx on till.webhook_events (state, created_at, id);
create index webhook_events_type_idx on till.webhook_events (type, state, created_at, id) where state <> 'pending';
-- The erasure of personal data.
create index on till.webhook_events (created_at, id) where personal_data = 'unchecked';
create index on till.webhook_events (object_id, created_at, id) where personal_data = 'customer';
create index webhook_events_customer_idx on till.webhook_events (customer_key, created_at, id)
  where personal_data = 'customer' and customer_key is not null;

create table till.webhook_events_other partition of till.webhook_events default;

-- Whether this table is a week attached to the inbox. Null if there is no such table.
create function till.is_webhook_week_attached(week text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  if week !~ '^webhook_events_[0-9]{8}$' then
    raise exception '% is not a week of webhook events', week;
  end if;
  return (select relispartition from pg_catalog.pg_class
    where relnamespace = 'till'::regnamespace and relname = week);
end $$;

-- Moves events in this state from a detached week to the default partition, up to a number. Uses an index, because a
-- week is large and few of its events are kept. A search for a deleted customer does not see the events of a detached
-- week, so those that contain personal data are searched again.
create function till.move_webhook_events(week text, moved_state text, moved_max integer) returns integer
language plpgsql security definer set search_path = '' set enable_seqscan = off as $$
declare
  names text;
  expressions text;
  moved integer;
begin
  if till.is_webhook_week_attached(week) is distinct from false then
    raise exception '% is not a detached week', week;
  end if;
  select string_agg(quote_ident(attname), ', ' order by attnum),
    string_agg(case attname
      when 'personal_data' then 'case personal_data when ''customer'' then ''unchecked'' else personal_data end'
      else quote_ident(attname) end, ', ' order by attnum)
  into names, expressions
  from pg_catalog.pg_attribute
  where attrelid = 'till.webhook_events'::regclass and attnum > 0 and not attisdropped;
  execute format(
    'with moved as (
       delete from till.%1$I where ctid = any (array(
         select ctid from till.%1$I where state = %2$L limit %3$s for update skip locked))
       returning *),
     kept as (insert into till.webhook_events (%4$s) select %5$s from moved on conflict do nothing)
     select count(*) from moved', week, moved_state, moved_max, names, expressions) into moved;
  return moved;
end $$;

-- Detaches a week from the inbox. Holds the exclusive lock on the inbox for milliseconds: it scans nothing, and moves a
-- limited number of pending and of failed events. Fails with lock_not_available instead of waiting. Returns false if
-- there are more pending events.
create function till.detach_webhook_week(week text, moved_max integer) returns boolean
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' set enable_seqscan = off as $$
declare
  pending integer;
begin
  perform till.lock_weeks('webhook_events');
  -- Another process may have detached it by now.
  if till.is_webhook_week_attached(week) is distinct from true then
    return true;
  end if;
  execute format('select count(*) from (select from till.%I where state = ''pending'' limit %s) as found',
    week, moved_max + 1) into pending;
  if pending > moved_max then
    return false;
  end if;
  execute format('alter table till.webhook_events detach partition till.%I', week);
  while till.move_webhook_events(week, 'pending', moved_max) > 0 loop
  end loop;
  perform till.move_webhook_events(week, 'failed', moved_max);
  return true;
end $$;

-- Drops a detached week, unless it still contains an event that must be kept.
create function till.drop_detached_webhook_week(week text) returns boolean
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' set enable_seqscan = off as $$
declare
  is_needed boolean;
begin
  perform till.lock_weeks('webhook_events');
  if till.is_webhook_week_attached(week) is null then
    return true;
  end if;
  if till.is_webhook_week_attached(week) then
    raise exception '% is not a detached week', week;
  end if;
  execute format('select exists (select from till.%1$I where state = ''failed'')
    or exists (select from till.%1$I where state = ''pending'')', week) into is_needed;
  if is_needed then
    return false;
  end if;
  execute format('drop table till.%I', week);
  return true;
end $$;

revoke execute on function till.is_webhook_week_attached, till.move_webhook_events, till.detach_webhook_week,
  till.drop_detached_webhook_week from public;

select till.make_weeks('webhook_events', now() - interval '5 weeks', now() + interval '4 weeks');
