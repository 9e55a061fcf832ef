-- The numbers of the overview, kept up to date from the events. A week of events is kept until all of it is counted.
set local lock_timeout = '5s';

-- One number for a day and a currency. Payments and refunds count on the day on which they were created. For
-- subscriptions, the cell of the day 'infinity' has the current number, and the cell of any other day has the change on
-- that day.
create table till.overview_cells (
  day date not null,
  currency text not null,
  metric text not null,
  count bigint not null,
  -- In the smallest unit of the currency. A sum of many amounts may not fit into a bigint.
  amount numeric not null,
  primary key (day, currency, metric)
) with (fillfactor = 50);

-- Every event up to `position` is counted once. A migration that adds a number sets `position` to null, so that all
-- rows are counted again. `as_of` is the time of the newest counted event, and `since` is the first day whose changes
-- the cells contain.
create table till.overview_progress (
  id boolean primary key default true check (id),
  position bigint,
  as_of timestamptz not null,
  since date not null
) with (fillfactor = 50);
insert into till.overview_progress (position, as_of, since) values (0, now(), (now() at time zone 'utc')::date);

-- Events above this position are not counted yet, and must be kept. There are none while all rows are to be counted
-- again.
create function till.counted_event_position() returns bigint
language sql stable security definer set search_path = '' as $$
  select coalesce(position, 9223372036854775807) from till.overview_progress;
$$;

-- Whether the overview has counted every event of a week, so that the week may be dropped.
create function till.is_event_week_counted(week text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  is_missing boolean;
begin
  if week !~ '^events_[0-9]{8}$' or to_regclass('till.' || week) is null then
    return true;
  end if;
  execute format('select exists (select from till.%I where position > till.counted_event_position())', week)
    into is_missing;
  return not is_missing;
end $$;

-- Drops a week of events, unless the overview has not counted all of it. Readers wait for milliseconds. Fails with
-- lock_not_available instead of waiting longer for the lock.
create function till.drop_event_week(week text) returns void
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
begin
  if week !~ '^events_[0-9]{8}$' then
    raise exception '% is not a week of events', week;
  end if;
  perform till.lock_weeks('events');
  if not till.is_event_week_counted(week) then
    raise exception 'the overview has not counted all events of %', week using errcode = 'object_in_use';
  end if;
  -- Another process may have dropped it by now.
  if to_regclass('till.' || week) is not null then
    execute format('drop table till.%I', week);
  end if;
end $$;

revoke execute on function till.counted_event_position, till.is_event_week_counted, till.drop_event_week from public;
