-- A declined charge completes its claim. A request that repeats the key gets the same decline instead of a second charge.
set local lock_timeout = '5s';

-- { code, detail, declineCode }; null for a claim that succeeded or is open.
alter table till.idempotency_claims add column failure jsonb;
