-- Keeps what decided about the windows of a subscription until it changed: the period, the plan and the add-ons. Events that
-- arrive late are counted by what held when they happened, even if a period was never reported, the plan does not grant
-- the meter any more, or the subscription is paused.
--
-- A period that becomes longer also extends the windows that nothing was counted in yet. A batch that had read the shorter
-- period could create their counters later, with the earlier end, and from that end on nothing would show what was used.
set local lock_timeout = '5s';

-- First: a change of a subscription that has called the earlier function would find the table of the later one.
lock table till.subscriptions in share row exclusive mode;

-- A row holds until `holds_until`. If that is later than `ends_at`, periods of the plan's interval followed. Rows that were
-- kept before have no plan: that of the subscription counts. What is kept holds until now, unless the row says otherwise.
alter table till.usage_periods
  add column holds_until timestamptz not null default now(),
  add column plan_id uuid,
  add column add_ons jsonb;
update till.usage_periods set holds_until = ends_at;
delete from till.usage_periods as later using till.usage_periods as earlier
  where later.subscription_id = earlier.subscription_id and later.holds_until = earlier.holds_until
    and later.starts_at > earlier.starts_at;
alter table till.usage_periods
  drop constraint usage_periods_pkey,
  add primary key (subscription_id, holds_until);

-- Without meters there is no usage, and nothing is kept. An event can be 35 days late. A subscription that stays entitled
-- had its earlier terms until the change, by the processor's clock, or until its new period began. One that is no longer
-- entitled had them at most until its period ended. Of several changes in the same second, the first one counts.
--
-- A period that lasts longer than expected, such as a trial that was extended, extends the windows that end with it, so
-- that they are found until then. The windows that begin with it get counters, even if nothing was used: whatever counts
-- in them afterwards meets these counters, and keeps their end. A renewal that is as long as the plan says needs none.
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
      case when before.current_period_start < changed.current_period_start then changed.current_period_start
        when changed.status in ('active', 'trialing') then changed.processor_as_of
        else least(before.current_period_end, coalesce(changed.ended_at, changed.processor_as_of)) end,
      before.plan_id, before.add_ons
    from before join changed using (id)
    where before.status in ('active', 'trialing')
      and before.current_period_start is not null and before.current_period_end is not null
      and (before.current_period_start < changed.current_period_start
        or changed.status not in ('active', 'trialing')
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
      select changed.customer_id, changed.current_period_start as starts_at, changed.current_period_end as ends_at,
        before.current_period_start = changed.current_period_start as is_same, before.current_period_end as ended_at,
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
          and (held.starts_at = moved.starts_at or (moved.is_same and held.ends_at = moved.ended_at))
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
