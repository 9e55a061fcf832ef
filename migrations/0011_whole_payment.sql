-- What the API shows of a payment beyond its amount and status: the amount that is authorised and not captured yet, the
-- application's description, the last failed attempt, and the payment method of the latest charge.
set local lock_timeout = '5s';

alter table till.payments
  add column amount_capturable bigint not null default 0,
  add column description text,
  -- { code, declineCode, message }; null without a failed attempt, and once the payment has succeeded.
  add column failure jsonb,
  -- The latest charge. The time of its creation decides which charge is the latest.
  add column processor_charge_id text,
  add column charged_at timestamptz,
  -- { id, type, brand, last4, expMonth, expYear }: nothing else about cards is stored.
  add column payment_method jsonb,
  -- When the processor gives up an authorisation that is not captured.
  add column capture_before timestamptz,
  -- Not valid: checking all existing rows would hold the lock for as long as it takes to read them. All of them are 0.
  add constraint payments_amount_capturable_check check (amount_capturable >= 0) not valid;
