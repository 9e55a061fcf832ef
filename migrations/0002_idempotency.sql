-- A claim on a creating request, made before the processor is called and completed together with the row that the call
-- leads to. One that stays open tells that a process died in between: the same request, or the sweeper, settles it.
set local lock_timeout = '5s';

create table till.idempotency_claims (
  operation text not null,
  -- The caller's key, or, where it sent none, the id of what is being made.
  key text not null,
  request_hash bytea not null,
  resource_id uuid not null unique,
  -- Whose the resource is: the customer of a payment or subscription, the payment of a refund.
  parent_id uuid,
  -- The key that the processor sees is made of these two; the number rises once the processor may have forgotten it.
  attempt smallint not null default 1,
  attempted_at timestamptz not null,
  -- Who is at work on it (see presence), and until when at the latest.
  owner integer not null,
  leased_until timestamptz not null,
  -- When the sweeper last looked for what was made under it.
  looked_at timestamptz,
  created_at timestamptz not null,
  completed_at timestamptz,
  primary key (operation, key)
);
create index on till.idempotency_claims (leased_until) where completed_at is null;
create index on till.idempotency_claims (completed_at) where completed_at is not null;
