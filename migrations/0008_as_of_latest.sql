-- processor_as_of was one moment; it is now the earliest and processor_as_of_latest the latest second at which what the row
-- last took in was true. For an event both are its own second. An answer of the processor was true at some moment between
-- its request and its response, so an event dated in between is a tie. Null, in rows of an older release, means equal.
-- Six tables at once can meet a process at work in a circle. The wait is shorter than the second after which PostgreSQL
-- looks for deadlocks, so it is always the migration that gives up, and it is tried again.
set local lock_timeout = '500ms';

alter table till.invoices add column processor_as_of_latest timestamptz;
alter table till.subscriptions add column processor_as_of_latest timestamptz;
alter table till.refunds add column processor_as_of_latest timestamptz;
alter table till.payments add column processor_as_of_latest timestamptz;
alter table till.plans add column product_as_of_latest timestamptz, add column price_as_of_latest timestamptz;
alter table till.customers add column processor_as_of_latest timestamptz;
