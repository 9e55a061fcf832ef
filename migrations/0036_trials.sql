-- The plans to which a subscription has had a trial, for trialOnce. trial_end stays when a trial ends and when the plan changes,
-- so it does not say which plan the trial was for. A change of the plan during a trial counts for both plans.
set local lock_timeout = '5s';

-- Null until the status, the plan or the end of the trial changes. Until then, a trial was for the present plan.
-- No backfill: the processor does not show the plans of earlier trials.
alter table till.subscriptions add column trial_plan_ids uuid[];

create function till.remember_trials() returns trigger language plpgsql as $$
declare
  had uuid[] := coalesce(
    old.trial_plan_ids, case when old.trial_end is null then '{}' else array[old.plan_id] end);
begin
  -- A trial that began and ended unnoticed was for the plan that the subscription has now, as far as is known.
  if new.trial_end is not null and (new.status = 'trialing' or old.trial_end is null)
    and not new.plan_id = any (had)
  then
    had := had || new.plan_id;
  end if;
  new.trial_plan_ids := had;
  return new;
end $$;

-- Subscriptions without a trial cost nothing here.
create trigger remember_trials before update on till.subscriptions
  for each row when ((old.trial_end is not null or new.trial_end is not null)
    and (old.plan_id, old.status, old.trial_end) is distinct from (new.plan_id, new.status, new.trial_end))
  execute function till.remember_trials();
