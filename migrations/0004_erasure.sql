-- Which events tell of a person, so that they can be found when that person is to be forgotten. 'unchecked' is what an
-- older release stored, as it came, and what has to be looked at again; 'customer' holds the address, name and phone of
-- the customer that it is about; 'none' tells of nobody.
set local lock_timeout = '5s';

-- A constant default touches no row, and a constraint that is not validated reads none: the inbox may be large.
alter table till.webhook_events add column personal_data text not null default 'unchecked';
alter table till.webhook_events add constraint webhook_events_personal_data_check
  check (personal_data in ('unchecked', 'customer', 'none')) not valid;
create index on till.webhook_events (personal_data, object_id) where personal_data <> 'none';

-- From when on the events about the customer are searched for what tells of it, once it is deleted; null when that is
-- done. Due from the start, so that whoever deletes a customer, and however, need not think of it.
alter table till.customers add column erase_at timestamptz default now();
create index on till.customers (erase_at) where deleted_at is not null and erase_at is not null;
