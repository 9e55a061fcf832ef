-- One live subscription per customer and group of plans. A creation reserves the group in the transaction of its claim,
-- before the processor is called; the primary key decides between concurrent requests. The reservation ends in the
-- transaction that writes the subscription's row, which from then on shows that the group is taken. So this table has
-- rows only while a creation is in progress, or until an abandoned one is resolved.
set local lock_timeout = '5s';

create table till.group_reservations (
  customer_id uuid not null,
  group_name text not null,
  claim_id uuid not null,
  primary key (customer_id, group_name)
);
create index on till.group_reservations (claim_id);
