-- Which events tell of a person, so that they can be found when that person is to be forgotten. 'unchecked' is what an
-- older release stored, as it came, and what has to be looked at again; 'customer' holds the address, name and phone of
-- the customer that it is about; 'none' tells of nobody.
set local lock_timeout = '5s';

-- A constant default touches no row, and a constraint that is not validated reads none: the inbox may be large.
alter table till.webhook_events add column personal_data text not null default 'unchecked';
alter table till.webhook_events add constraint webhook_events_personal_data_check
  check (personal_data in ('unchecked', 'customer', 'none')) not valid;
create index on till.webhook_events (created_at, id) where personal_data = 'unchecked';
create index on till.webhook_events (object_id, created_at, id) where personal_data = 'customer';

-- From when on the events about the customer are searched for what tells of it, once it is deleted; null when that is
-- done. Due from the start, so that whoever deletes a customer, and however, need not think of it.
alter table till.customers add column erase_at timestamptz default now();
create index on till.customers (erase_at) where deleted_at is not null and erase_at is not null;

-- The service makes and drops weeks by these two functions alone, and they do so as their owner. So the role that the
-- service runs as need not own anything; SECURITY.md has the grants that it needs.
alter function till.make_webhook_weeks(timestamptz, timestamptz) security definer set search_path = '';

-- Drops a week whole; what failed or still waits moves to the default partition first.
create function till.drop_webhook_week(name text) returns void language plpgsql security definer set search_path = '' as $$
begin
  if name !~ '^webhook_events_[0-9]{8}$' then
    raise exception '% is not a week of webhook events', name;
  end if;
  execute format('alter table till.webhook_events detach partition till.%I', name);
  execute format('insert into till.webhook_events select * from till.%I where state in (''failed'', ''pending'')', name);
  execute format('drop table till.%I', name);
end $$;

revoke execute on function till.make_webhook_weeks, till.drop_webhook_week from public;
