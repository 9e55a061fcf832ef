-- Reads from a replica: see docs/decisions/0061-replicas.md.
set local lock_timeout = '5s';

-- The history in which the last events were appended, as this server knows it. On a replica it shows which primary the
-- replica follows: the value is that of `till.history()` of the primary that wrote it. The role of the service may not
-- read sequences.
create function till.appended_history() returns bigint language sql stable security definer set search_path = '' as $$
  select last_value from till.event_history;
$$;
