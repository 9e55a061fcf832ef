/**
 * A row of everything, by the name of the migration that creates its table, final so that the service has no reason to
 * change it. A migration that creates a table adds a row here.
 */
export const seeds: Readonly<Record<string, string>> = {
  installation: `
    insert into till.processor_account (account_id, livemode) values ('acct_sandbox', false);`,
  customers: `
    insert into till.customers (id, processor_customer_id, email, name, external_id, metadata, processor_as_of,
        processor_as_of_latest, created_at, updated_at)
      values ('018f0000-0000-7000-8000-000000000001', 'cus_seed', 'seed@example.com', 'Seed', 'seed', '{"seed": "yes"}',
        now(), now(), now(), now());
    insert into till.external_ids (external_id, customer_id) select 'seed', id from till.customers;`,
  plans: `
    insert into till.plans (id, processor_product_id, processor_price_id, name, amount, currency, interval, repeatable,
        product_active, price_active, product_as_of, product_as_of_latest, price_as_of, price_as_of_latest, created_at,
        updated_at)
      values ('018f0000-0000-7000-8000-000000000002', 'prod_seed', 'price_seed', 'Seed', 900, 'eur', 'month', false,
        true, true, now(), now(), now(), now(), now(), now());`,
  payments: `
    insert into till.payments (id, processor_payment_intent_id, customer_id, metadata, amount, amount_received,
        amount_refunded, currency, intent_status, processor_as_of, processor_as_of_latest, created_at, updated_at)
      select '018f0000-0000-7000-8000-000000000003', 'pi_seed', id, '{"seed": "yes"}', 2000, 2000, 500, 'eur',
        'succeeded', now(), now(), now(), now()
      from till.customers;
    insert into till.refunds (id, processor_refund_id, payment_id, amount, currency, status, kind, processor_as_of,
        processor_as_of_latest, created_at, updated_at)
      select '018f0000-0000-7000-8000-000000000004', 're_seed', id, 500, 'eur', 'succeeded', 'refund', now(), now(),
        now(), now()
      from till.payments;`,
  subscriptions: `
    insert into till.subscriptions (id, processor_subscription_id, processor_main_item_id, customer_id, plan_id, status,
        add_ons, metadata, processor_as_of, processor_as_of_latest, created_at, updated_at)
      select '018f0000-0000-7000-8000-000000000005', 'sub_seed', 'si_seed', customers.id, plans.id, 'canceled',
        '[{"planId": "018f0000-0000-7000-8000-000000000002", "quantity": 2}]', '{"seed": "yes"}',
        now(), now(), now(), now()
      from till.customers, till.plans;
    insert into till.group_reservations (customer_id, group_name, subscription_id, claim_id)
      select id, 'seed', '018f0000-0000-7000-8000-000000000005', '018f0000-0000-7000-8000-000000000007'
      from till.customers;
    insert into till.subscription_turns (subscription_id, writer_id, owner, leased_until)
      values ('018f0000-0000-7000-8000-000000000005', '018f0000-0000-7000-8000-00000000000d', 1, now());
    insert into till.subscription_queue (writer_id, subscription_id, goes_first, owner, leased_until)
      values ('018f0000-0000-7000-8000-00000000000e', '018f0000-0000-7000-8000-000000000005', false, 1, now());`,
  invoices: `
    insert into till.invoices (id, processor_invoice_id, customer_id, amount_due, amount_paid, amount_remaining,
        currency, status, attempt_count, processor_as_of, processor_as_of_latest, created_at, updated_at)
      select '018f0000-0000-7000-8000-000000000006', 'in_seed', id, 900, 900, 0, 'eur', 'paid', 1, now(), now(), now(),
        now()
      from till.customers;`,
  checkouts: `
    insert into till.checkouts (id, processor_checkout_session_id, customer_id, mode, status, payment_status, plan_id,
        quantity, terms, expires_at, metadata, processor_as_of, processor_as_of_latest, created_at, updated_at)
      select '018f0000-0000-7000-8000-00000000000f', 'cs_seed', customers.id, 'subscription', 'expired', 'unpaid', plans.id,
        1, 'seed', now(), '{"seed": "yes"}', now(), now(), now(), now()
      from till.customers, till.plans;`,
  requests: `
    insert into till.idempotency_claims (operation, key_name, key, request_hash, resource_id, attempted_at, owner,
        leased_until, created_at, completed_at)
      values ('payments.create', '', 'seed', '\\x00', '018f0000-0000-7000-8000-000000000003', now(), 1, now(), now(),
        now());`,
  access: `
    insert into till.api_keys (id, name, scopes, digest, created_at)
      values ('018f0000-0000-7000-8000-000000000022', 'seed', '{read}', sha256('seed'), now());
    insert into till.console_sessions (digest, key_name, key_proof, created_at, last_used_at, expires_at, ended_at)
      values ('seed', 'seed', sha256('proof'), now(), now(), now() + interval '7 days', now());
    insert into till.audit_log (id, created_at, key_name, action, object_type, object_id, address, request_id, outcome)
      values ('018f0000-0000-7000-8000-000000000010', now(), 'seed', 'revokeApiKey', 'api_key',
        '018f0000-0000-7000-8000-000000000022', '192.0.2.7', 'seed', 204);
    insert into till.console_sign_ins (digest, expires_at) values ('seed', now() + interval '10 minutes');`,
  webhook_inbox: `
    insert into till.webhook_events (id, type, object_id, created_at, payload, state, next_try_at, received_at, processed_at)
      values ('evt_seed', 'payment_intent.succeeded', 'pi_seed', now(), '{}', 'processed', now(), now(), now());`,
  events: `
    select till.append_events('{plan.created}', '{plan}', '{018f0000-0000-7000-8000-000000000002}', '{null}',
      array['{"name": "Seed"}'], '{"{}"}',
      array['{"kind": "api", "keyName": "seed", "requestId": null, "processorEventId": null}'], '{null}');
    insert into till.grace_periods (subscription_id, ends_at)
      values ('018f0000-0000-7000-8000-000000000005', now() + interval '1 year');`,
  event_endpoints: `
    insert into till.event_endpoints (id, url, enabled, disabled_at, disabled_reason, secret, position, created_at, updated_at)
      values ('018f0000-0000-7000-8000-000000000008', 'https://shop.example.com/', false, now(), 'request', 'plain:whsec_c2VlZA==',
        0, now(), now());
    insert into till.event_retries (endpoint_id, object_id, id, position, event_created_at, attempt, next_attempt_at, created_at)
      select id, '018f0000-0000-7000-8000-000000000001', '018f0000-0000-7000-8000-000000000009', 1, now(), 0, now(), now()
      from till.event_endpoints;
    insert into till.event_deliveries (endpoint_id, id, position, event_created_at, attempt, succeeded, created_at)
      select id, '018f0000-0000-7000-8000-00000000000a', 1, now(), 1, true, now() from till.event_endpoints;
    insert into till.event_resends (endpoint_id, position, event_created_at, id, object_id, attempt, next_attempt_at, created_at)
      select id, 1, now(), '018f0000-0000-7000-8000-000000000010', '018f0000-0000-7000-8000-000000000001', 0, now(), now()
      from till.event_endpoints;`,
  overview: `
    insert into till.overview_cells (day, currency, metric, count, amount) values ('2020-01-01', 'eur', 'seed', 1, 1);
    insert into till.overview_moves (metric, currency, day, id, customer_id, subscription_id, amount)
      values ('seed', 'eur', '2020-01-01', '018f0000-0000-7000-8000-000000000011', '018f0000-0000-7000-8000-000000000001',
        '018f0000-0000-7000-8000-000000000005', 1);`,
  usage: `
    insert into till.meters (id, key, name, resets, created_at, updated_at)
      values ('018f0000-0000-7000-8000-000000000023', 'seed', 'Seed', 'period', now(), now());
    insert into till.usage_events (application, id, day, at, quantity, customer_id, meter_id, window_start, created_at)
      select 'seed', 'seed', (now() at time zone 'utc')::date, now(), 1, '018f0000-0000-7000-8000-000000000001', id,
        date_trunc('month', now(), 'utc'), now() from till.meters;
    insert into till.usage_counters (customer_id, meter_id, starts_at, ends_at, used)
      select customer_id, meter_id, window_start, window_start + interval '1 month', quantity from till.usage_events;
    insert into till.subscription_history (subscription_id, changed_at, status, current_period_start, current_period_end,
        plan_id, add_ons, next_status, next_period_start, has_other_terms)
      select id, now(), 'active', now() - interval '1 month', now(), plan_id, add_ons, 'active', now(), false
      from till.subscriptions;`,
  sync: `
    insert into till.resyncs (id, status, started_at, ended_at)
      values ('018f0000-0000-7000-8000-00000000000b', 'finished', now(), now());
    insert into till.imports (id, external_id_from, started_at, ended_at)
      values ('018f0000-0000-7000-8000-00000000000c', null, now(), now());
    insert into till.import_skips (import_id, kind, object_id, reason)
      select id, 'payment', 'pi_seed', 'It has no customer.' from till.imports;
    insert into till.import_external_ids (import_id, digest, processor_customer_id)
      select id, 'seed', 'cus_seed' from till.imports;`,
  sandbox_resets: `
    insert into till.sandbox_pauses (owner, number) values (1, 0);`,
};
