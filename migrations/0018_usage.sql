-- Usage: what customers use of each meter, counted exactly.
set local lock_timeout = '5s';

-- API keys that only report usage.
alter table till.api_keys drop constraint api_keys_scopes_check, add constraint api_keys_scopes_check check (
  cardinality(scopes) > 0 and scopes <@ array['read', 'write', 'usage', 'refund', 'operate', 'admin']);

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

-- What was used. Partitioned by the UTC day of `at`, so that the indexes that inserts use stay small however many events
-- there are, and old days are dropped as a whole. The primary key finds every repeated event: an id counts within an
-- application and a day. No foreign keys: each would cost a lookup per event, and neither customers nor meters are ever
-- deleted.
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
  -- The application's own id of the event. When the customer is deleted, a random text that begins with a space replaces
  -- it: the application's ids contain none.
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

-- Earlier periods of subscriptions, for events that arrive late. A subscription itself has its current period.
create table till.usage_periods (
  subscription_id uuid not null references till.subscriptions,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  primary key (subscription_id, starts_at)
);

-- Keeps the period that ends. Without meters there is no usage, and nothing is kept. An event can be 35 days late. A
-- period that lasts longer than expected, such as a trial that was extended, extends the windows that end with it, so
-- that they are found until then.
create function till.follow_usage_period() returns trigger language plpgsql as $$
begin
  if not exists (select from till.meters) then
    return null;
  end if;
  if old.current_period_start < new.current_period_start and old.status in ('active', 'trialing') then
    insert into till.usage_periods (subscription_id, starts_at, ends_at)
      values (old.id, old.current_period_start, least(old.current_period_end, new.current_period_start))
      on conflict (subscription_id, starts_at) do update set ends_at = excluded.ends_at;
    delete from till.usage_periods
      where subscription_id = old.id and ends_at < new.current_period_start - interval '40 days';
  end if;
  update till.usage_counters set ends_at = new.current_period_end
    where customer_id = new.customer_id and ends_at < new.current_period_end
      and (starts_at = new.current_period_start
        or (old.current_period_start = new.current_period_start and ends_at = old.current_period_end));
  return null;
end $$;

create trigger follow_usage_period after update on till.subscriptions
  for each row when (old.current_period_start < new.current_period_start or
    (old.current_period_start = new.current_period_start and old.current_period_end < new.current_period_end))
  execute function till.follow_usage_period();

-- Creates the missing days of a table between two days, as till.make_weeks does for weeks.
create function till.make_days(parent text, from_day date, to_day date) returns void
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
  next_day date := from_day;
  name text;
  has_rows boolean;
begin
  if not exists (select from pg_catalog.pg_class
      where relnamespace = 'till'::regnamespace and relname = parent and relkind = 'p')
  then
    raise exception '% is not a table with days', parent;
  end if;
  while next_day <= to_day loop
    name := parent || '_' || to_char(next_day, 'YYYYMMDD');
    if to_regclass('till.' || name) is null then
      perform till.lock_weeks(parent);
      execute format('select exists (select from till.%I where day = %L)', parent || '_other', next_day) into has_rows;
      -- Another process may have created it by now.
      if not has_rows and not exists (select from pg_catalog.pg_class
          where relnamespace = 'till'::regnamespace and relname = name)
      then
        execute format('create table till.%I (like till.%I including all)', name, parent);
        execute format('alter table till.%I attach partition till.%I for values from (%L) to (%L)',
          parent, name, next_day, next_day + 1);
      end if;
    end if;
    next_day := next_day + 1;
  end loop;
end $$;

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

revoke execute on function till.make_days, till.drop_usage_day from public;

select till.make_days('usage_events', (now() at time zone 'utc')::date - 36, (now() at time zone 'utc')::date + 7);
