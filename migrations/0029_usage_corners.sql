-- Keeps what an unpaid subscription had in its grace period, as migration 0025 does for paid ones: a subscription that is
-- past due entitles its customer until the grace period ends, so late events of that time count in its window.
--
-- Also tells windows of one customer apart that begin in the same second, which is the precision of the processor's times.
set local lock_timeout = '5s';

-- Added to the starts of the subscription's windows, in microseconds. Those of windows that exist do not change.
-- No backfill: the processor does not know this column.
alter table till.subscriptions add column window_number integer not null default 0;

-- Two subscriptions that are inserted at the same time can get the same number. Then they share windows that begin together.
-- The plan is kept, perhaps from an empty table, so it must not be one that reads all subscriptions.
create function till.number_windows() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  -- Less than a second, so that no two starts meet.
  select least(coalesce(max(window_number) + 1, 0), 999999) into new.window_number
    from (select window_number from till.subscriptions where customer_id = new.customer_id
      order by created_at desc, id desc limit 100) as newest;
  return new;
end $$;

create trigger number_windows before insert on till.subscriptions
  for each row execute function till.number_windows();

-- The grace period that held before the change is still stored while the trigger runs.
create or replace function till.follow_usage_periods() returns trigger language plpgsql as $$
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
  -- One pass creates and extends counters, in the order in which every transaction locks them. It is planned each time: a
  -- plan that was made while there were few counters would read all of them.
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
