-- Several secrets of an event endpoint can be valid at once: each one ends a day after it was replaced.
set local lock_timeout = '5s';

-- Newest first: [{ "secret": ..., "validUntil": ... }]. With the secret of the endpoint itself, at most five are valid.
alter table till.event_endpoints
  add column replaced_secrets jsonb not null default '[]' check (jsonb_array_length(replaced_secrets) <= 4);

-- The columns of the earlier release stay empty: it goes on during a rolling upgrade, and signs with the current secret.
update till.event_endpoints set previous_secret = null, previous_secret_until = null,
  replaced_secrets = jsonb_build_array(jsonb_build_object('secret', previous_secret, 'validUntil', previous_secret_until))
where previous_secret is not null;
