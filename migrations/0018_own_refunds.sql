-- The processor releases what was authorised and not captured with a refund of its own. Till leaves it out of
-- amount_refunded, and recognises it by its amount. A refund that was requested through Till is never such a release, even
-- if its amount is the same.

alter table till.refunds add column is_own boolean not null default false;
