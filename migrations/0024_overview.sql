-- The numbers of the overview, kept up to date from the events.
set local lock_timeout = '500ms';

-- A number of a day and a currency. Payments and refunds count on the day on which they were created. Of subscriptions, the
-- cell of the day 'infinity' is the number now, and the cell of any other day how much it changed on that day.
create table till.overview_cells (
  day date not null,
  currency text not null,
  metric text not null,
  count bigint not null,
  -- In the smallest unit of the currency. The sum of many amounts, so it may not fit a bigint.
  amount numeric not null,
  primary key (day, currency, metric)
) with (fillfactor = 50);

-- The events up to `position` are counted, each once. Null until the rows that are older than the cells are counted.
-- `as_of` is the time of the newest event that is counted, and `since` the first day whose changes the cells have.
create table till.overview_progress (
  id boolean primary key default true check (id),
  position bigint,
  as_of timestamptz not null,
  since date not null
) with (fillfactor = 50);

-- In a new database, all changes that there will be have events.
insert into till.overview_progress (position, as_of, since)
select
  case when not exists (select from till.payments) and not exists (select from till.refunds)
    and not exists (select from till.subscriptions) then 0 end,
  now(), (now() at time zone 'utc')::date;

-- The last position that was drawn. A transaction that has committed its events drew at or below it.
create function till.drawn_event_position() returns bigint language sql security definer set search_path = '' as $$
  select last_value from till.event_positions;
$$;

-- Events above this position are still to be counted, and must be kept. Before the first count, which reads the rows, none
-- are.
create function till.counted_event_position() returns bigint language sql stable security definer set search_path = '' as $$
  select coalesce(position, 9223372036854775807) from till.overview_progress;
$$;

-- Whether the overview counts every event of a week, so that the week may be dropped.
create function till.is_event_week_counted(week text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  is_missing boolean;
begin
  if week !~ '^events_[0-9]{8}$' or to_regclass('till.' || week) is null then
    return true;
  end if;
  execute format('select exists (select from till.%I where position > till.counted_event_position())', week)
    into is_missing;
  return not is_missing;
end $$;

-- Drops a week, unless the overview has not counted all of it. A process of the previous release does not ask before.
create or replace function till.drop_event_week(week text) returns void
language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
begin
  if week !~ '^events_[0-9]{8}$' then
    raise exception '% is not a week of events', week;
  end if;
  perform till.lock_event_weeks();
  if not till.is_event_week_counted(week) then
    raise exception 'the overview has not counted all events of %', week using errcode = 'object_in_use';
  end if;
  -- Another process may have dropped it by now.
  if to_regclass('till.' || week) is not null then
    execute format('drop table till.%I', week);
  end if;
end $$;

revoke execute on function till.drawn_event_position, till.counted_event_position, till.is_event_week_counted from public;

-- The lists that show the rows of the numbers. See 0009 for how these indexes are built.
create or replace function till.deferred_indexes() returns table (name text, table_name text, definition text)
language sql immutable set search_path = '' as $$
  values
    ('customers_email_idx', 'customers', '(lower(email), created_at, id)'),
    ('payments_status_idx', 'payments', '(status, created_at, id)'),
    ('payments_made_idx', 'payments', '(created_at, id) where processor_invoice_id is null'),
    ('payments_made_status_idx', 'payments', '(status, created_at, id) where processor_invoice_id is null'),
    ('payments_charged_idx', 'payments', '(created_at, id) where processor_invoice_id is not null'),
    ('payments_charged_status_idx', 'payments', '(status, created_at, id) where processor_invoice_id is not null'),
    ('payments_subscription_idx', 'payments',
      '(processor_subscription_id, created_at, id) where processor_invoice_id is not null'),
    -- One index for all payments, those made and those charged, and with a status: it has what decides about each.
    ('payments_currency_idx', 'payments', '(currency, created_at, id) include (status, processor_invoice_id)'),
    ('payments_failed_idx', 'payments', '(created_at, id) where failure is not null and intent_status <> ''succeeded'''),
    ('payments_refunded_idx', 'payments', '(created_at, id) where amount_refunded > 0'),
    ('payments_disputed_idx', 'payments', '(created_at, id) where dispute is not null'),
    ('refunds_created_idx', 'refunds', '(created_at, id) where processor_refund_id is not null'),
    ('refunds_status_idx', 'refunds', '(status, created_at, id) where processor_refund_id is not null'),
    ('subscriptions_status_idx', 'subscriptions', '(status, created_at, id)'),
    ('subscriptions_plan_idx', 'subscriptions', '(plan_id, created_at, id)'),
    -- Neither a plan nor a status is selective, so the two together have an index as well.
    ('subscriptions_plan_status_idx', 'subscriptions', '(plan_id, status, created_at, id)'),
    ('invoices_status_idx', 'invoices', '(status, created_at, id)'),
    ('invoices_subscription_idx', 'invoices', '(processor_subscription_id, created_at, id)')
$$;

do $$
declare
  small_bytes constant bigint := 8 * 1024 * 1024;
  wanted record;
begin
  for wanted in
    select * from till.deferred_indexes()
    where table_name in ('payments', 'refunds') and to_regclass(format('till.%I', name)) is null
      and pg_catalog.pg_relation_size(format('till.%I', table_name)::regclass) < small_bytes
  loop
    execute format('create index %I on till.%I %s', wanted.name, wanted.table_name, wanted.definition);
  end loop;
end $$;
