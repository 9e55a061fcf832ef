-- Requests in progress, and what became of them.
set local lock_timeout = '5s';

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
