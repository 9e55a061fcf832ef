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
  since date not null,
  -- The time zone by which the cells are counted. If the setting differs, all rows are counted again.
  time_zone text not null
) with (fillfactor = 50);
insert into till.overview_progress (position, as_of, since, time_zone)
  values (0, now(), (now() at time zone 'utc')::date, 'UTC');

-- What each customer's subscriptions that are active or past due charge in a month, as far as the events are counted.
-- No foreign key, because its check would lock the row of the customer.
create table till.overview_subscribers (
  customer_id uuid not null,
  currency text not null,
  -- In the smallest unit of the currency. Each subscription's amount is rounded.
  monthly_amount numeric not null,
  -- Whether the amount was ever above zero. If it was, a customer who subscribes again is not a new one.
  was_subscriber boolean not null,
  primary key (customer_id, currency)
) with (fillfactor = 85);
-- The subscribers of a currency.
create index overview_subscribers_current_idx on till.overview_subscribers (currency, customer_id)
  where monthly_amount > 0;

-- One row for each move of monthly revenue, each start and end of a trial, and each failed, recovered or lost renewal.
-- It is written in the transaction that adds it to the cell of the same day, currency and metric. The id has the time
-- of the event. No foreign keys, because their checks would lock the rows of customers and subscriptions.
create table till.overview_moves (
  metric text not null,
  currency text not null,
  day date not null,
  id uuid not null,
  customer_id uuid not null,
  subscription_id uuid not null,
  -- By how much monthly revenue moves, in the smallest unit of the currency. 0 for trials and renewals.
  amount numeric not null,
  primary key (metric, currency, day, id)
);

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
