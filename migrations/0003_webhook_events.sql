-- The inbox of webhooks, which is also the queue: one insert deduplicates and enqueues. Partitioned by the week in which
-- the processor made the event, so that the index that every insert touches stays small however many events there are,
-- and old weeks are dropped whole. An event id always comes with the same time, so the primary key still
-- finds every duplicate. Times outside the weeks that are kept ready go to the default partition.
set local lock_timeout = '5s';

create table till.webhook_events (
  -- The processor's id of the event.
  id text not null,
  type text not null,
  -- What the event is about; null where it is about nothing of ours.
  object_id text,
  created_at timestamptz not null,
  api_version text,
  -- JSON with every secret struck out. Text, because jsonb refuses some of what JSON allows.
  payload text not null,
  state text not null check (state in ('pending', 'processed', 'ignored', 'failed')),
  attempts smallint not null default 0,
  next_try_at timestamptz not null,
  last_error text,
  received_at timestamptz not null,
  -- When it first took effect; a replay leaves it, so that no effect is counted twice.
  processed_at timestamptz,
  primary key (id, created_at)
) partition by range (created_at);

create index on till.webhook_events (next_try_at) where state = 'pending';
create index on till.webhook_events (created_at, id);
create index on till.webhook_events (object_id, created_at);
create index on till.webhook_events (created_at, id) where state = 'failed';

create table till.webhook_events_other partition of till.webhook_events default;

-- Makes the partitions of the weeks between two times, where they are not there yet. A week of which the default
-- partition already holds events stays with it.
create function till.make_webhook_weeks(from_time timestamptz, to_time timestamptz) returns void language plpgsql as $$
declare
  week timestamptz := date_trunc('week', from_time at time zone 'utc') at time zone 'utc';
  name text;
begin
  while week <= to_time loop
    name := 'webhook_events_' || to_char(week at time zone 'utc', 'YYYYMMDD');
    if to_regclass('till.' || name) is null
      and not exists (select from till.webhook_events_other where created_at >= week and created_at < week + interval '7 days')
    then
      execute format('create table till.%I partition of till.webhook_events for values from (%L) to (%L)',
        name, week, week + interval '7 days');
    end if;
    week := week + interval '7 days';
  end loop;
end $$;

select till.make_webhook_weeks(now() - interval '5 weeks', now() + interval '4 weeks');

-- How far the processor's own list of events has been read, and which process is reading it.
create table till.recovery (
  name text primary key,
  read_until timestamptz,
  owner integer,
  leased_until timestamptz not null
);
insert into till.recovery (name, read_until, leased_until) values ('events', null, now());

-- When a row that is not final was last compared with the processor.
alter table till.payments add column checked_at timestamptz;
alter table till.subscriptions add column checked_at timestamptz;
create index on till.payments (created_at) where intent_status not in ('succeeded', 'canceled');
create index on till.subscriptions (current_period_end) where status not in ('canceled', 'incomplete_expired');
