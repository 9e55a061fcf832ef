-- The overview: how monthly revenue moves, the time zone of its days, and what needs attention.
set local lock_timeout = '5s';

-- What each customer's subscriptions that are active or past due charge in a month, as far as the events are counted.
-- No foreign key, because its check would lock the row of the customer.
create table till.overview_subscribers (
  customer_id uuid not null,
  currency text not null,
  -- In the smallest unit of the currency. Each subscription's amount is rounded.
  monthly_amount numeric not null,
  -- Whether the amount was ever above zero. If it was, a customer who subscribes again is not a new one.
  was_subscriber boolean not null,
  primary key (customer_id, currency)
) with (fillfactor = 85);

-- The time zone by which the cells are counted. If the setting differs, all rows are counted again. Null if they were
-- counted without the numbers of this release. Then the cells of past days do not show how revenue moved, and the
-- numbers about subscriptions begin again.
alter table till.overview_progress add column time_zone text;
update till.overview_progress set time_zone = 'UTC'
  where position = 0 and not exists (select from till.overview_cells);

-- Disputes that need a response, by their deadline. Other payments do not enter this index.
create index payments_dispute_due_idx on till.payments ((dispute ->> 'evidenceDueBy'), id)
  where dispute ->> 'status' in ('needs_response', 'warning_needs_response');
-- What is owed on each subscription.
create index invoices_owed_idx on till.invoices (processor_subscription_id) include (amount_remaining, currency)
  where status = 'open' and processor_subscription_id is not null;
