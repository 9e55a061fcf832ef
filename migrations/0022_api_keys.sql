-- API keys that are created through the API or the till command, in addition to those from the environment. The key
-- itself is never stored, so a copy of this table does not let anyone call the API.
set local lock_timeout = '5s';

create table till.api_keys (
  id uuid primary key,
  -- The application. Several keys can have the same name: they share their idempotency keys and their rate limit.
  name text not null check (name ~ '^[A-Za-z0-9_.-]{1,64}$'),
  scopes text[] not null check (
    cardinality(scopes) > 0 and scopes <@ array['read', 'write', 'refund', 'operate', 'admin']),
  -- SHA-256 of the key. The key has 256 random bits, so a slow hash would add nothing.
  digest bytea not null check (octet_length(digest) = 32),
  created_at timestamptz not null,
  expires_at timestamptz,
  -- To the minute.
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index on till.api_keys (created_at, id) where revoked_at is null;

-- An idempotency key belongs to an application: the name of its API key, '' for API keys without a name of their own.
-- Null: claimed by a release that knew no names, and found by every name. '*': no request can repeat the claim.
-- The first application that uses a key has its claim under the key itself, where also the previous release finds it.
-- A second application that uses the same key has its claim under 'name key'.
alter table till.idempotency_claims add column key_name text;
-- When a claim was last inserted or used beside this one. The row stays as long as such claims.
alter table till.idempotency_claims add column shared_at timestamptz;
