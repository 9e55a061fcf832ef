-- Writes to one subscription happen one after the other, across processes. A write can take several calls to the
-- processor, and each of them depends on what the calls before it did: two equal changes at once would bill a period twice.
set local lock_timeout = '5s';

-- The writer whose turn it is. It calls the processor only while its lease lasts longer than the call can take. A turn
-- whose lease has expired belongs to a process that died or stands still: the next writer takes it over.
create table till.subscription_turns (
  subscription_id uuid primary key,
  writer_id uuid not null,
  -- The claim of the write, if it has one. The same request may resume it.
  claim_id uuid,
  -- The process of the writer.
  owner integer not null,
  leased_until timestamptz not null,
  -- An earlier writer left its turn without an end, so that its claim must be settled first.
  is_taken_over boolean not null default false
);

-- The writers that wait. Each renews its lease while it waits, so that a dead one delays the others only for a moment.
create table till.subscription_queue (
  writer_id uuid primary key,
  subscription_id uuid not null,
  -- The order of arrival.
  ticket bigint generated always as identity,
  -- A cancellation goes before all others that wait.
  goes_first boolean not null,
  claim_id uuid,
  owner integer not null,
  leased_until timestamptz not null
);
create index on till.subscription_queue (subscription_id, goes_first desc, ticket);

-- A writer that takes over a turn settles the open claims of the subscription.
create index on till.idempotency_claims (parent_id) where completed_at is null;

-- The subscription that shall have a plan of the group. Its claims come one after the other, so that a claim takes over
-- the reservation of one that was abandoned. Null in rows that an earlier claim left.
alter table till.group_reservations add column subscription_id uuid;
