-- Keeps that a subscription gave no access before it was canceled. Without this, late usage of an unpaid time would count in
-- its last period: only a subscription that entitled its customer until it ended has that window until then.
set local lock_timeout = '5s';

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
