-- Traces: an event remembers the span that wrote it, so that its deliveries belong to the same trace.
set local lock_timeout = '5s';

-- In the form of the W3C header `traceparent`. Null if the change was not traced. No API shows it.
alter table till.events add column traceparent text;

-- As before, with the new column. Events of an older release have none.
create or replace function till.append_events(new_events json) returns void
language plpgsql security definer set search_path = '' as $$
begin
  if (select last_value from till.event_history) <> till.history() then
    perform till.skip_lost_positions();
  end if;
  perform pg_catalog.pg_advisory_xact_lock_shared(till.event_lock(last_value)) from till.event_positions;
  insert into till.events (position, created_at, type, object_type, object_id, customer_id, data, previous, cause,
    traceparent)
  select pg_catalog.nextval('till.event_positions'),
    pg_catalog.date_trunc('milliseconds', pg_catalog.clock_timestamp()),
    v.type, v."objectType", v."objectId", v."customerId", v.data, v.previous, v.cause, v.traceparent
  from pg_catalog.json_to_recordset(new_events) as v (type text, "objectType" text, "objectId" uuid,
    "customerId" uuid, data json, previous json, cause json, traceparent text);
end $$;
