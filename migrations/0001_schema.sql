-- The schema and its list of migrations are made by the migrator; here begins what the service itself keeps.
set local lock_timeout = '5s';

comment on schema till is 'Payments and subscriptions, mirrored from the processor';
