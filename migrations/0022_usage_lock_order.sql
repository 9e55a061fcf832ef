-- Periods that become longer extend counters in the order in which every transaction locks them. A trigger for each row
-- locked them in the order of the subscriptions, and could deadlock with a batch of usage events.
set local lock_timeout = '5s';

drop trigger follow_usage_period on till.subscriptions;
drop function till.follow_usage_period;

-- Keeps the periods that end. Without meters there is no usage, and nothing is kept. An event can be 35 days late. A
-- period that lasts longer than expected, such as a trial that was extended, extends the windows that end with it, so
-- that they are found until then.
create function till.follow_usage_periods() returns trigger language plpgsql as $$
begin
  if not exists (select from till.meters) then
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
  with locked as (
    select held.customer_id, held.meter_id, held.starts_at, changed.current_period_end
    from before join changed using (id)
    join till.usage_counters as held
      on held.customer_id = changed.customer_id and held.ends_at < changed.current_period_end
        and (held.starts_at = changed.current_period_start
          or (before.current_period_start = changed.current_period_start
            and held.ends_at = before.current_period_end))
    where before.current_period_start < changed.current_period_start
      or (before.current_period_start = changed.current_period_start
        and before.current_period_end < changed.current_period_end)
    order by held.customer_id, held.meter_id, held.starts_at for update of held
  )
  update till.usage_counters as held set ends_at = longest.ends_at
    from (
      select customer_id, meter_id, starts_at, max(current_period_end) as ends_at from locked group by 1, 2, 3
    ) as longest
    where held.customer_id = longest.customer_id and held.meter_id = longest.meter_id
      and held.starts_at = longest.starts_at;
  return null;
end $$;

-- For each statement: it sees all subscriptions that change together.
create trigger follow_usage_periods after update on till.subscriptions
  referencing old table as before new table as changed
  for each statement execute function till.follow_usage_periods();
