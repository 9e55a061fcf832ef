-- A period that becomes longer extends the windows that nothing was counted in yet. A batch that had read the shorter
-- period could create their counters later, with the earlier end, and from that end on nothing would show what was used.
set local lock_timeout = '5s';

-- Keeps the periods that end. Without meters there is no usage, and nothing is kept. An event can be 35 days late. A
-- period that lasts longer than expected, such as a trial that was extended, extends the windows that end with it, so
-- that they are found until then. The windows that begin with it get counters, even if nothing was used: whatever counts
-- in them afterwards meets these counters, and keeps their end. A renewal that is as long as the plan says needs none.
create or replace function till.follow_usage_periods() returns trigger language plpgsql as $$
begin
  if not exists (select from till.meters) or not exists (
    select from before join changed using (id)
    where before.current_period_start < changed.current_period_start
      or (before.current_period_start = changed.current_period_start
        and before.current_period_end < changed.current_period_end))
  then
    return null;
  end if;
  insert into till.usage_periods (subscription_id, starts_at, ends_at)
    select id, before.current_period_start, least(before.current_period_end, changed.current_period_start)
    from before join changed using (id)
    where before.current_period_start < changed.current_period_start and before.status in ('active', 'trialing')
    on conflict (subscription_id, starts_at) do update set ends_at = excluded.ends_at;
  delete from till.usage_periods using before join changed using (id)
    where before.current_period_start < changed.current_period_start and subscription_id = id
      and ends_at < changed.current_period_start - interval '40 days';
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
