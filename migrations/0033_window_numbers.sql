-- Tells windows apart even if two subscriptions of a customer are inserted at the same time. A number that follows from the
-- id needs no look at the others, so it cannot miss one, and a subscription is inserted without a further read. Two
-- subscriptions of a customer have the same number by chance once in half a million pairs, and share windows only if these
-- also begin in the same second.
set local lock_timeout = '5s';

create or replace function till.number_windows() returns trigger language plpgsql as $$
begin
  -- Less than a second in microseconds, so that no two starts meet. 0 is for the months of UTC.
  new.window_number := 1 + (uuid_hash(new.id) & 524287);
  return new;
end $$;
