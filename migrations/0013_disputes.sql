-- A payment's newest dispute, as one value: { processorDisputeId, createdAt, asOf: { earliest, latest }, status, amount,
-- currency, reason, evidenceDueBy }. Its own time orders the events about it. Null if the payment was never disputed.
set local lock_timeout = '500ms';

alter table till.payments add column dispute jsonb;
