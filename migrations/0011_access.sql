-- Who may send requests: API keys, sessions of the console, and the audit log.
set local lock_timeout = '5s';

-- API keys that are created through the API or the till command, in addition to those from the environment. The API key
-- itself is never stored, so a copy of this table does not let anyone call the API.
create table till.api_keys (
  id uuid primary key,
  -- The application. Several API keys can have the same name: they share their idempotency keys and their rate limit.
  name text not null check (name ~ '^[A-Za-z0-9_.-]{1,64}$'),
  scopes text[] not null check (
    cardinality(scopes) > 0 and scopes <@ array['read', 'write', 'usage', 'refund', 'operate', 'admin']),
  -- SHA-256 of the API key, which has 256 random bits. A slow hash would add nothing.
  digest bytea not null check (octet_length(digest) = 32),
  created_at timestamptz not null,
  expires_at timestamptz,
  -- To the minute.
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index on till.api_keys (created_at, id) where revoked_at is null;

-- A session belongs to an API key or to a person, and ends with it. The cookie has a random token. Only the digest of
-- the token is stored, so a copy of this table opens no session.
create table till.console_sessions (
  digest text primary key,
  -- The name of the API key, or "console" for a person.
  key_name text not null,
  -- An API key that was created through the API or the command line.
  key_id uuid references till.api_keys,
  -- An API key from the environment: a digest of the token and the API key together. It shows whether the API key is
  -- still valid, and reveals nothing to a reader without the token.
  key_proof bytea,
  -- A person of the identity provider.
  issuer text,
  subject text,
  email text,
  person_name text,
  -- What the groups of the person allowed at the sign-in.
  scopes text[],
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  check (num_nonnulls(key_id, key_proof, subject) = 1),
  check ((subject is null) = (issuer is null)),
  check ((subject is null) = (email is null)),
  check ((subject is null) = (scopes is null))
);
create index on till.console_sessions (key_id) where key_id is not null;
create index on till.console_sessions (subject, issuer) where subject is not null;
create index on till.console_sessions (expires_at);

-- Sign-ins that came back from the identity provider. Each counts once, whether it succeeds or not, and before the
-- provider is asked: a provider that sees a code twice withdraws what it gave for it the first time.
create table till.console_sign_ins (
  -- The digest of the random state that the cookie of the sign-in contains.
  digest text primary key,
  -- When the cookie has expired, and the row can go.
  expires_at timestamptz not null
);
create index on till.console_sign_ins (expires_at);

-- Who did what. `id` contains `created_at`. Rows are only inserted, and dropped by the week after 400 days.
create table till.audit_log (
  id uuid not null,
  created_at timestamptz not null,
  -- The name of the API key. Null for a refused sign-in.
  key_name text,
  -- The e-mail address of the person. Null for an API key.
  person text,
  -- The operation as in the OpenAPI document, or "session.created", "session.ended", "session.refused",
  -- "key.first_used".
  action text not null,
  object_type text,
  object_id text,
  -- Where the request came from, as far as the trusted proxies say.
  address text,
  request_id text,
  -- The status code of the response.
  outcome integer not null,
  primary key (created_at, id)
) partition by range (created_at);
create index on till.audit_log (key_name, created_at, id);
create index on till.audit_log (person, created_at, id) where person is not null;
create index on till.audit_log (action, created_at, id);
create index on till.audit_log (object_id, created_at, id) where object_id is not null;
create table till.audit_log_other partition of till.audit_log default;

create function till.refuse_audit_change() returns trigger language plpgsql set search_path = '' as $$
begin
  if tg_op = 'UPDATE' and new is not distinct from old then
    return new;
  end if;
  if tg_op = 'DELETE' and old.created_at < pg_catalog.now() - interval '400 days' then
    return old;
  end if;
  raise exception 'the audit log is only written, never changed';
end $$;
create trigger refuse_change before update or delete on till.audit_log
  for each row execute function till.refuse_audit_change();
create trigger refuse_truncate before truncate on till.audit_log
  for each statement execute function till.refuse_audit_change();
create trigger refuse_truncate before truncate on till.audit_log_other
  for each statement execute function till.refuse_audit_change();

create function till.drop_audit_week(week text) returns void
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
begin
  if week !~ '^audit_log_[0-9]{8}$' then
    raise exception '% is not a week of the audit log', week;
  end if;
  if to_date(right(week, 8), 'YYYYMMDD') + 7 > (now() - interval '400 days')::date then
    raise exception '% is not old enough', week;
  end if;
  perform till.lock_weeks('audit_log');
  execute format('drop table if exists till.%I', week);
end $$;

revoke execute on function till.refuse_audit_change, till.drop_audit_week from public;

select till.make_weeks('audit_log', now() - interval '1 week', now() + interval '4 weeks');
