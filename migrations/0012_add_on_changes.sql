-- Whether a plan is an add-on changes only while nothing has the plan. The claim that changes it is here while it is
-- open, so that no other request gives the plan to a subscription meanwhile.
set local lock_timeout = '5s';

alter table till.plans add column add_on_claim_id uuid;
