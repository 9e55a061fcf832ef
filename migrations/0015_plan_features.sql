-- What a plan gives to its subscribers, the group of plans of which a customer has one, and billing every several
-- intervals. Features and group are kept in the metadata of the plan's product too, so that a restore finds them.
set local lock_timeout = '5s';

alter table till.plans
  add column interval_count integer not null default 1 check (interval_count >= 1),
  -- { name: boolean, integer or text }
  add column features jsonb not null default '{}',
  add column group_name text;
