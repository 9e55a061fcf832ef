-- A request that chooses what it pays remembers its choice before it calls the processor. A request that resumes it pays
-- the same invoice, so that one key never pays two.
set local lock_timeout = '5s';

-- The processor's id of what the request chose. Null for a request that chose nothing, or has not yet.
alter table till.idempotency_claims add column target text;
