-- Sign-ins that came back from the identity provider. Each counts once, whether it succeeds or not, and before the
-- provider is asked: a provider that sees a code twice withdraws what it gave for it the first time.
set local lock_timeout = '5s';

create table till.console_sign_ins (
  -- The digest of the random state that the cookie of the sign-in contains.
  digest text primary key,
  -- When the cookie has expired, and the row can go.
  expires_at timestamptz not null
);
create index on till.console_sign_ins (expires_at);

-- `console_sessions.sign_in_digest` is no longer written. It stays for processes that started before this migration.
