-- The rows of the overview's numbers about changes of subscriptions, so that each number can be checked.
set local lock_timeout = '5s';

-- One row for each move of monthly revenue, each start and end of a trial, and each failed, recovered or lost renewal. It
-- is written in the transaction that adds it to the cell of the same day, currency and metric. The id has the time of the
-- event. No foreign keys, because their checks would lock the rows of customers and subscriptions.
create table till.overview_moves (
  metric text not null,
  currency text not null,
  day date not null,
  id uuid not null,
  customer_id uuid not null,
  subscription_id uuid not null,
  -- By how much monthly revenue moves, in the smallest unit of the currency. 0 for trials and renewals.
  amount numeric not null,
  primary key (metric, currency, day, id)
);

-- The first day all of whose moves are rows, if the cells of earlier days were counted without them. The processes of the
-- release before may count for the rest of this day.
alter table till.overview_progress add column moves_since date;
update till.overview_progress set moves_since = (now() at time zone coalesce(time_zone, 'UTC'))::date + 1
  where exists (select from till.overview_cells);

-- The subscribers of a currency.
create index overview_subscribers_current_idx on till.overview_subscribers (currency, customer_id)
  where monthly_amount > 0;
