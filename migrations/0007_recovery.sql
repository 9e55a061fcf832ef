-- Customers that were lost, as by the restore of an older backup, are recovered from the processor.
set local lock_timeout = '5s';

-- Invoices that were stored before their customer was known: when the customer is recovered, this index finds them.
-- Building it holds up the writing of invoices for about a second per ten million of them.
create index invoices_without_customer on till.invoices (processor_customer_id) where customer_id is null;

-- A recovered customer may be deleted already, and then it is in no list.
create function till.count_inserted_customers() returns trigger language plpgsql as $$
begin
  perform till.add_to_list_count('customers', (select count(*) from inserted where deleted_at is null));
  return null;
end $$;

create or replace trigger count_inserted after insert on till.customers
  referencing new table as inserted for each statement execute function till.count_inserted_customers();
