-- Events for applications arrive as arrays, one for each column: PostgreSQL parses each JSON value once, instead of a
-- document with all of them and then each value again.
set local lock_timeout = '5s';

-- As before. Each array has one element for each event.
create function till.append_events(types text[], object_types text[], object_ids text[], customer_ids text[],
  data text[], previous text[], causes text[], traceparents text[]) returns void
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
    v.type, v.object_type, v.object_id::uuid, v.customer_id::uuid, v.data::json, v.previous::json, v.cause::json,
    v.traceparent
  from unnest(types, object_types, object_ids, customer_ids, append_events.data, append_events.previous, causes,
    traceparents) as v (type, object_type, object_id, customer_id, data, previous, cause, traceparent);
end $$;

revoke execute on function till.append_events(text[], text[], text[], text[], text[], text[], text[], text[])
  from public;

-- For the previous release, which runs beside this one during an upgrade.
create or replace function till.append_events(new_events json) returns void
language sql security definer set search_path = '' as $$
  select till.append_events(array_agg(v.type), array_agg(v."objectType"), array_agg(v."objectId"),
    array_agg(v."customerId"), array_agg(v.data), array_agg(v.previous), array_agg(v.cause), array_agg(v.traceparent))
  from pg_catalog.json_to_recordset(new_events) as v (type text, "objectType" text, "objectId" text,
    "customerId" text, data text, previous text, cause text, traceparent text);
$$;
