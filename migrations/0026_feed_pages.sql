-- A page of the feed with a plan that is made once for each connection. Planning over all weeks takes three times as long
-- as reading a few events. No week can be left out by its time: positions follow the order of commits, and the clocks of
-- two servers can differ. So each week is asked for its first event, which takes two pages of an index.
set local lock_timeout = '5s';

create function till.events_after(after_position bigint, up_to bigint, count_max bigint) returns setof till.events
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
  return query select * from till.events where position > after_position and position <= up_to
    order by position limit count_max;
end $$;
