-- Requests: who may send them, and what they reserve while they are in progress.
set local lock_timeout = '5s';

-- API keys that are created through the API or the till command, in addition to those from the environment. The API key
-- itself is never stored, so a copy of this table does not let anyone call the API.
create table till.api_keys (
  id uuid primary key,
  -- The application. Several API keys can have the same name: they share their idempotency keys and their rate limit.
  name text not null check (name ~ '^[A-Za-z0-9_.-]{1,64}$'),
  scopes text[] not null check (
    cardinality(scopes) > 0 and scopes <@ array['read', 'write', 'refund', 'operate', 'admin']),
  -- SHA-256 of the API key, which has 256 random bits. A slow hash would add nothing.
  digest bytea not null check (octet_length(digest) = 32),
  created_at timestamptz not null,
  expires_at timestamptz,
  -- To the minute.
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index on till.api_keys (created_at, id) where revoked_at is null;

-- A claim shows that a creation or a change is in progress or done. It is inserted before the processor is called, and
-- completed together with the resulting row. A claim that stays open shows that its process died in between: the same
-- request, or the sweeper, resolves it.
create table till.idempotency_claims (
  operation text not null,
  -- An idempotency key belongs to an application: the name of its API key, or '' for API keys without a name.
  key_name text not null,
  -- The caller's idempotency key. Without one: the id of the resource, with the key_name '*', which no API key has.
  key text not null,
  request_hash bytea not null,
  -- The id of the resource, which may not exist yet. For a change: the id of the change.
  resource_id uuid not null unique,
  -- What the resource belongs to: the customer of a payment or subscription, or the payment of a refund.
  parent_id uuid,
  -- The idempotency key for the processor is derived from the request and this number. The number increases when the
  -- processor may have forgotten the idempotency key.
  attempt smallint not null default 1,
  attempted_at timestamptz not null,
  -- The process that works on the claim (the number of its advisory lock), and until when at most.
  owner integer not null,
  leased_until timestamptz not null,
  -- When the sweeper last looked up what was created under the claim.
  looked_at timestamptz,
  -- The processor's id of the object that the request chose to act on, stored before each call. A request that resumes
  -- the claim acts on the same object, so that one idempotency key never pays two invoices. Null if the request chose
  -- no object.
  target text,
  -- A declined charge completes its claim: { code, detail, declineCode }. A request that repeats the idempotency key
  -- gets the same decline instead of a second charge. Null for a claim that succeeded or is open.
  failure jsonb,
  created_at timestamptz not null,
  completed_at timestamptz,
  primary key (operation, key_name, key)
);
create index on till.idempotency_claims (leased_until) where completed_at is null;
create index on till.idempotency_claims (completed_at) where completed_at is not null;
-- The open claims on a subscription.
create index on till.idempotency_claims (parent_id) where completed_at is null;

-- One live subscription per customer and plan group. A request reserves the group before it calls the processor, and
-- the primary key decides between concurrent requests. The reservation ends in the transaction that writes the
-- subscription's row: from then on the row shows that the group is taken. So this table has rows only while a request
-- is in progress, or until an abandoned one is resolved.
create table till.group_reservations (
  customer_id uuid not null,
  group_name text not null,
  -- The subscription that will get a plan of the group. Its claims run one after the other, so a claim can take over
  -- the reservation of an abandoned one.
  subscription_id uuid not null,
  claim_id uuid not null,
  primary key (customer_id, group_name)
);
create index on till.group_reservations (claim_id);

-- Writes to one subscription happen one after the other, across processes. A write can take several calls to the
-- processor, and each call depends on the calls before it: two identical changes at once would bill a period twice.

-- The writer whose turn it is. It calls the processor only while its lease lasts longer than the call can take. If the
-- lease has expired, the writer's process died or is stuck, and the next writer takes the turn over.
create table till.subscription_turns (
  subscription_id uuid primary key,
  writer_id uuid not null,
  -- The claim of the write, if it has one. The same request may resume it.
  claim_id uuid,
  -- The process of the writer.
  owner integer not null,
  leased_until timestamptz not null,
  -- An earlier writer did not end its turn, so its claim must be resolved first.
  is_taken_over boolean not null default false
);

-- The waiting writers. Each renews its lease while it waits, so that a dead one delays the others only briefly.
create table till.subscription_queue (
  writer_id uuid primary key,
  subscription_id uuid not null,
  -- The order of arrival.
  ticket bigint generated by default as identity,
  -- A cancellation goes before all other waiting writers.
  goes_first boolean not null,
  claim_id uuid,
  owner integer not null,
  leased_until timestamptz not null
);
create index on till.subscription_queue (subscription_id, goes_first desc, ticket);
