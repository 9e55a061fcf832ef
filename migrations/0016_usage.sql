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

-- What subscriptions were before they changed, and what they became. Events that arrive late are counted by what held
-- when they happened, even if a period was never reported, the plan does not grant the meter any more, or the
-- subscription is paused. Triggers record this and judge nothing: `core/model/past-periods.ts` decides which periods a
-- subscription had. The subscription itself has its current terms.
create table till.subscription_history (
  subscription_id uuid not null references till.subscriptions,
  -- By the processor's clock.
  changed_at timestamptz not null,
  status text not null,
  current_period_start timestamptz,
  current_period_end timestamptz,
  plan_id uuid not null,
  add_ons jsonb not null,
  grace_ends_at timestamptz,
  next_status text not null,
  next_period_start timestamptz,
  next_ended_at timestamptz,
  -- Whether it has another plan or other add-ons since.
  has_other_terms boolean not null,
  id bigint generated always as identity,
  primary key (subscription_id, id)
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

-- Without meters there is no usage, and nothing is recorded. An event can be 35 days late.
create function till.record_subscription_change() returns trigger language plpgsql as $$
begin
  if exists (select from till.meters) then
    insert into till.subscription_history values (
      old.id, new.processor_as_of,
      old.status, old.current_period_start, old.current_period_end, old.plan_id, old.add_ons,
      (select ends_at from till.grace_periods where subscription_id = old.id),
      new.status, new.current_period_start, new.ended_at,
      (old.plan_id, old.add_ons) is distinct from (new.plan_id, new.add_ons));
    delete from till.subscription_history
      where subscription_id = old.id and changed_at < new.processor_as_of - interval '40 days';
  end if;
  return null;
end $$;

create trigger record_subscription_change after update on till.subscriptions
  for each row when ((old.status, old.current_period_start, old.plan_id, old.add_ons)
    is distinct from (new.status, new.current_period_start, new.plan_id, new.add_ons))
  execute function till.record_subscription_change();

-- A grace period that ends by itself changes no subscription, and the next change would not know when it ended.
create function till.record_ended_grace() returns trigger language plpgsql as $$
begin
  if exists (select from till.meters) then
    insert into till.subscription_history
      select id, old.ends_at, status, current_period_start, current_period_end, plan_id, add_ons, old.ends_at,
        status, current_period_start, ended_at, false
      from till.subscriptions where id = old.subscription_id and status = 'past_due';
  end if;
  return null;
end $$;

create trigger record_ended_grace after delete on till.grace_periods
  for each row execute function till.record_ended_grace();

-- A period that lasts longer than expected, such as a trial that was extended, extends the windows that end with it,
-- so that they are found until then. The windows that begin with it get counters, even if nothing was used: whatever
-- counts in them afterwards meets these counters, and keeps their end. A renewal that is as long as the plan says
-- needs none. A window of another subscription that ends in the same second may be extended too, and is only read for
-- longer. For each statement, so that all counters are locked in the order in which every transaction locks them.
create function till.extend_counters() returns trigger language plpgsql as $$
begin
  if not exists (select from till.meters) or not exists (
    select from before join changed using (id)
    where (before.current_period_start, before.current_period_end)
      < (changed.current_period_start, changed.current_period_end))
  then
    return null;
  end if;
  -- It is planned each time: a plan that was made while there were few counters would read all of them.
  execute $sql$
    with moved as (
      select changed.customer_id, changed.current_period_end as ends_at,
        changed.current_period_start + changed.window_number * interval '1 microsecond' as starts_at,
        case when before.current_period_start = changed.current_period_start then before.current_period_end
          -- Never later than usage-window.ts expects, which also knows the day of the first period.
          else (changed.current_period_start at time zone 'utc'
            + (plans.interval_count || ' ' || plans.interval)::interval) at time zone 'utc' end as expected_at
      from before join changed using (id) join till.plans on plans.id = before.plan_id
      where (before.current_period_start, before.current_period_end)
        < (changed.current_period_start, changed.current_period_end)
    ),
    longer as (
      select held.customer_id, held.meter_id, held.starts_at, moved.ends_at
      from moved join till.usage_counters as held
        on held.customer_id = moved.customer_id and held.ends_at < moved.ends_at
          and (held.starts_at = moved.starts_at or held.ends_at = moved.expected_at)
      union all
      select moved.customer_id, meters.id, moved.starts_at, moved.ends_at
      from moved join till.meters on meters.active and moved.ends_at > moved.expected_at
    )
    insert into till.usage_counters as held (customer_id, meter_id, starts_at, ends_at, used)
    select customer_id, meter_id, starts_at, max(ends_at), 0 from longer
    group by customer_id, meter_id, starts_at order by customer_id, meter_id, starts_at
    on conflict (customer_id, meter_id, starts_at)
      do update set ends_at = excluded.ends_at where held.ends_at < excluded.ends_at
  $sql$;
  return null;
end $$;

create trigger extend_counters after update on till.subscriptions
  referencing old table as before new table as changed
  for each statement execute function till.extend_counters();

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
