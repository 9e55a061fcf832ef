-- Usage: what customers use of each meter, counted exactly.
set local lock_timeout = '5s';

-- What is counted. The integer feature of a plan with the same name as `key` is the limit in a window.
create table till.meters (
  id uuid primary key,
  key text not null unique check (key ~ '^[a-z0-9_.-]{1,64}$'),
  name text not null,
  -- When a window ends: with the period of the subscription, or after a month.
  resets text not null check (resets in ('period', 'month')),
  active boolean not null default true,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- What was used. Partitioned by the UTC day of `at`, so that the indexes that inserts use stay small however many
-- events there are, and old days are dropped as a whole. The primary key finds every repeated event: an id counts
-- within an application and a day. No foreign keys: each would cost a lookup per event, and neither customers nor
-- meters are ever deleted.
create table till.usage_events (
  at timestamptz not null,
  -- The start of the window in which the event counts. It never changes, so the counters can be computed again.
  window_start timestamptz not null,
  quantity bigint not null,
  created_at timestamptz not null,
  customer_id uuid not null,
  meter_id uuid not null,
  day date not null,
  -- The name of the API key. Empty for API keys without a name of their own.
  application text collate "C" not null,
  -- The application's own id of the event. When the customer is deleted, a random text that begins with a space
  -- replaces it: the application's ids contain none.
  id text collate "C" not null,
  primary key (application, id, day),
  check (day = (at at time zone 'utc')::date)
) partition by range (day);
create index on till.usage_events (customer_id, at);
create table till.usage_events_other partition of till.usage_events default;

-- The sum of the events of a customer in one window of a meter. Pages have room for updates, which change no indexed
-- column.
create table till.usage_counters (
  customer_id uuid not null,
  meter_id uuid not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  used bigint not null,
  -- Whether an event said that the limit is reached. There is one for each window.
  is_reached boolean not null default false,
  primary key (customer_id, meter_id, starts_at)
) with (fillfactor = 70);
-- The windows that have not ended.
create index on till.usage_counters (customer_id, ends_at);

-- What decided about the windows of a subscription until it changed: the period, the plan and the add-ons. Events that
-- arrive late are counted by what held when they happened, even if a period was never reported, the plan does not grant
-- the meter any more, or the subscription is paused. The subscription itself has its current terms.
create table till.usage_periods (
  subscription_id uuid not null references till.subscriptions,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  -- If this is later than `ends_at`, periods of the plan's interval followed. The default is for what holds until now.
  holds_until timestamptz not null default now(),
  plan_id uuid not null,
  add_ons jsonb not null,
  primary key (subscription_id, holds_until)
);

-- Tells windows of one customer apart that begin in the same second, which is the precision of the processor's times.
-- The number follows from the id. Two subscriptions of a customer have the same number by chance once in half a
-- million pairs, and share windows only if these also begin in the same second.
create function till.number_windows() returns trigger language plpgsql as $$
begin
  -- Less than a second in microseconds, so that no two starts meet. 0 is for the months of UTC.
  new.window_number := 1 + (uuid_hash(new.id) & 524287);
  return new;
end $$;

create trigger number_windows before insert on till.subscriptions
  for each row execute function till.number_windows();

-- Keeps the terms that end, and extends counters. For each statement, so that it sees all subscriptions that change
-- together. Without meters there is no usage, and nothing is kept. An event can be 35 days late. A subscription that
-- stays entitled had its earlier terms until the change, by the processor's clock, or until its new period began. One
-- that is no longer entitled had them at most until its period ended. One that was past due had them at most until its
-- grace period ended, which is still stored while the trigger runs. Of several changes in the same second, the first
-- one counts.
--
-- A period that lasts longer than expected, such as a trial that was extended, extends the windows that end with it,
-- so that they are found until then. The windows that begin with it get counters, even if nothing was used: whatever
-- counts in them afterwards meets these counters, and keeps their end. A renewal that is as long as the plan says
-- needs none.
create function till.follow_usage_periods() returns trigger language plpgsql as $$
begin
  if not exists (select from till.meters) then
    return null;
  end if;
  with kept as (
    insert into till.usage_periods (subscription_id, starts_at, ends_at, holds_until, plan_id, add_ons)
    select id, before.current_period_start,
      case when before.current_period_start < changed.current_period_start
        then least(before.current_period_end, changed.current_period_start) else before.current_period_end end,
      least(grace.ends_at,
        case when before.current_period_start < changed.current_period_start then changed.current_period_start
          when changed.status in ('active', 'trialing') or changed.status = before.status then changed.processor_as_of
          else least(before.current_period_end, coalesce(changed.ended_at, changed.processor_as_of)) end),
      before.plan_id, before.add_ons
    from before join changed using (id)
    left join till.grace_periods as grace on grace.subscription_id = id and before.status = 'past_due'
    where (before.status in ('active', 'trialing') or grace.ends_at is not null)
      and before.current_period_start is not null and before.current_period_end is not null
      and (before.current_period_start < changed.current_period_start
        or (changed.status not in ('active', 'trialing') and changed.status <> before.status)
        or before.plan_id <> changed.plan_id or before.add_ons <> changed.add_ons)
    on conflict do nothing
    returning subscription_id as id
  )
  delete from till.usage_periods using kept join changed using (id)
    where subscription_id = id and holds_until < changed.processor_as_of - interval '40 days';
  if not exists (
    select from before join changed using (id)
    where before.current_period_start < changed.current_period_start
      or (before.current_period_start = changed.current_period_start
        and before.current_period_end < changed.current_period_end))
  then
    return null;
  end if;
  -- One pass creates and extends counters, in the order in which every transaction locks them. It is planned each
  -- time: a plan that was made while there were few counters would read all of them.
  execute $sql$
    with moved as (
      select changed.customer_id, changed.current_period_end as ends_at,
        changed.current_period_start + changed.window_number * interval '1 microsecond' as starts_at,
        before.current_period_start = changed.current_period_start as is_same, before.current_period_end as ended_at,
        changed.window_number * interval '1 microsecond' as number,
        (changed.current_period_start at time zone 'utc' + (plans.interval_count || ' ' || plans.interval)::interval)
          at time zone 'utc' as expected_at
      from before join changed using (id) join till.plans on plans.id = before.plan_id
      where before.current_period_start < changed.current_period_start
        or (before.current_period_start = changed.current_period_start
          and before.current_period_end < changed.current_period_end)
    ),
    longer as (
      select held.customer_id, held.meter_id, held.starts_at, moved.ends_at
      from moved join till.usage_counters as held
        on held.customer_id = moved.customer_id and held.ends_at < moved.ends_at
          and (held.starts_at = moved.starts_at or (moved.is_same and held.ends_at = moved.ended_at
            and held.starts_at - date_trunc('second', held.starts_at) = moved.number))
      union all
      select moved.customer_id, meters.id, moved.starts_at, moved.ends_at
      from moved cross join till.meters
      where meters.active and (moved.is_same or moved.ends_at > moved.expected_at)
    )
    insert into till.usage_counters as held (customer_id, meter_id, starts_at, ends_at, used)
    select customer_id, meter_id, starts_at, max(ends_at), 0 from longer
    group by customer_id, meter_id, starts_at order by customer_id, meter_id, starts_at
    on conflict (customer_id, meter_id, starts_at)
      do update set ends_at = excluded.ends_at where held.ends_at < excluded.ends_at
  $sql$;
  return null;
end $$;

create trigger follow_usage_periods after update on till.subscriptions
  referencing old table as before new table as changed
  for each statement execute function till.follow_usage_periods();

-- A grace period that ends without a change of the subscription. The next change would not know when it ended.
create function till.keep_ended_grace() returns trigger language plpgsql as $$
begin
  if exists (select from till.meters) then
    insert into till.usage_periods (subscription_id, starts_at, ends_at, holds_until, plan_id, add_ons)
      select id, current_period_start, current_period_end, ended.ends_at, plan_id, add_ons
      from ended join till.subscriptions on id = ended.subscription_id
      where status = 'past_due' and current_period_start < ended.ends_at and current_period_end is not null
      on conflict do nothing;
  end if;
  return null;
end $$;

create trigger keep_ended_grace after delete on till.grace_periods
  referencing old table as ended for each statement execute function till.keep_ended_grace();

-- Keeps that a subscription gave no access before it was canceled. Without this, late usage of an unpaid time would
-- count in its last period: only a subscription that entitled its customer until it ended has that window until then.
--
-- The row begins when it ends, so no window contains the time after the row before it: that of the last access. A grace
-- period that lasted until the end is kept by till.follow_usage_periods. It runs later, and sees the same row of
-- till.grace_periods. A subscription that expires without a first payment needs no row, as its status says the same.
create function till.keep_end_without_access() returns trigger language plpgsql as $$
begin
  if exists (select from till.meters)
    and not exists (select from till.grace_periods where subscription_id = new.id and ends_at >= new.ended_at)
  then
    insert into till.usage_periods (subscription_id, starts_at, ends_at, holds_until, plan_id, add_ons)
      values (new.id, new.ended_at, new.ended_at, new.ended_at, new.plan_id, new.add_ons)
      on conflict do nothing;
  end if;
  return null;
end $$;

create trigger keep_end_without_access after update on till.subscriptions
  for each row when (new.status = 'canceled' and new.ended_at is not null
    and old.status in ('incomplete', 'past_due', 'unpaid', 'paused'))
  execute function till.keep_end_without_access();

-- Drops a day of usage events. Events of the last 35 days are needed to find repeated ones.
create function till.drop_usage_day(day_name text) returns void
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
begin
  if day_name !~ '^usage_events_[0-9]{8}$' then
    raise exception '% is not a day of usage events', day_name;
  end if;
  if to_date(right(day_name, 8), 'YYYYMMDD') > (now() at time zone 'utc')::date - 36 then
    raise exception '% is not old enough', day_name;
  end if;
  perform till.lock_weeks('usage_events');
  execute format('drop table if exists till.%I', day_name);
end $$;

revoke execute on function till.drop_usage_day from public;

select till.make_days('usage_events', (now() at time zone 'utc')::date - 36, (now() at time zone 'utc')::date + 7);
