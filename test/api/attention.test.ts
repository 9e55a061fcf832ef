/** GET /api/v1/attention: what people should look at, the most urgent first. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Attention } from '@till/client';
import { createCustomer, createPaidPayment } from '../support/objects.ts';
import { createPastDue } from '../support/past-due.ts';
import { startTill } from '../support/till.ts';
import { eventOf } from '../support/webhook-events.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { sql } = till;
const attention = () => till.get<Attention>('/attention');

test('if all is well, everything is empty', async () => {
  await createPaidPayment(till);
  await till.settle();
  const none = { total: 0, data: [] };
  assert.deepEqual(await attention(), {
    ...{ disputes: none, pastDue: none, endpoints: none, webhookEvents: none, claims: none },
  });
});

test('disputes that need a response come by their deadline, with their customer', async () => {
  const customer = await createCustomer(till, { name: 'Ada', email: 'ada@example.com' });
  const card = 'pm_card_createDispute';
  for (const amount of [700, 800, 900])
    await createPaidPayment(till, { customerId: customer.id, card, amount });
  await till.control('clock', { advanceSeconds: 0 });
  await till.settle();
  const due = (amount: number, day: string, status = 'needs_response') =>
    sql(
      `update till.payments set dispute = dispute || jsonb_build_object('evidenceDueBy', $2::text, 'status', $3::text)
       where amount = $1`,
      [amount, day, status],
    );
  await due(700, '2027-01-09T00:00:00.000Z');
  await due(800, '2027-01-03T00:00:00.000Z', 'warning_needs_response');
  await due(900, '2027-01-01T00:00:00.000Z', 'under_review');
  const { disputes } = await attention();
  assert.equal(disputes.total, 2);
  assert.deepEqual(
    disputes.data.map(({ amount, status, customer: who }) => [amount, status, who?.name]),
    [
      [800, 'warning_needs_response', 'Ada'],
      [700, 'needs_response', 'Ada'],
    ],
  );
  assert.equal(disputes.data[0]?.evidenceDueBy, '2027-01-03T00:00:00.000Z');
  const listed = await till.get<{ data: { id: string }[] }>(
    '/payments?source=all&disputeStatus=needs_response,warning_needs_response',
  );
  assert.deepEqual(
    listed.data.map(({ id }) => id).sort(),
    disputes.data.map(({ paymentId }) => paymentId).sort(),
  );
  await till.call('DELETE', `/customers/${customer.id}`);
  assert.equal((await attention()).disputes.data[0]?.customer, null);
});

test('past-due subscriptions come by the amount of their open invoices, at most 20', async () => {
  const { subscription } = await createPastDue(till);
  await till.settle();
  const { pastDue } = await attention();
  assert.equal(pastDue.total, 1);
  const [first] = pastDue.data;
  assert.deepEqual(
    [first?.subscriptionId, first?.planId, first?.amountDue, first?.currency, first?.customer?.id],
    [subscription.id, subscription.planId, 900, 'eur', subscription.customerId],
  );
  assert.notEqual(first?.nextPaymentAttemptAt, null);
  await sql(
    `insert into till.subscriptions (id, processor_subscription_id, processor_main_item_id, customer_id, plan_id, status,
       processor_as_of, processor_as_of_latest, created_at, updated_at)
     select gen_random_uuid(), 'sub_many_' || n, 'si_1', customer_id, plan_id, 'past_due', now(), now(), now(), now()
     from till.subscriptions, generate_series(1, 30) as n where id = $1`,
    [subscription.id],
  );
  await sql(
    `insert into till.invoices (id, processor_invoice_id, processor_subscription_id, amount_due, amount_paid,
       amount_remaining, currency, status, attempt_count, processor_as_of, processor_as_of_latest, created_at, updated_at)
     select gen_random_uuid(), 'in_many_' || n || '_' || part, 'sub_many_' || n, 50 * n, 0, 50 * n, 'eur',
       case part when 3 then 'paid' else 'open' end, 1, now(), now(), now(), now()
     from generate_series(1, 25) as n, generate_series(1, 3) as part`,
  );
  const many = (await attention()).pastDue;
  assert.equal(many.total, 31);
  assert.deepEqual(
    many.data.map(({ amountDue }) => amountDue),
    [...Array.from({ length: 17 }, (_, index) => 2_500 - 100 * index), 900, 800, 700].toSorted(
      (a, b) => b - a,
    ),
  );
});

test('failing endpoints, failed webhook events and unsettled claims come oldest first', async () => {
  for (const name of ['one', 'two', 'three', 'four'])
    await till.post('/event-endpoints', { url: `https://${name}.example.com/` });
  await sql(`update till.event_endpoints set failing_since = now() - interval '1 hour' where url ~ 'one'`);
  await sql(
    `update till.event_endpoints set failing_since = now() - interval '4 days', enabled = false, disabled_at = now(),
       disabled_reason = 'failing' where url ~ 'two'`,
  );
  await sql(
    `update till.event_endpoints set enabled = false, disabled_at = now(), disabled_reason = 'request' where url ~ 'three'`,
  );
  await till.send(eventOf('payment_intent.succeeded', { id: 'pi_fails', object: 'payment_intent' }));
  await sql(
    `update till.webhook_events set state = 'failed', last_error = 'It failed.' where object_id = 'pi_fails'`,
  );
  await sql(
    `insert into till.idempotency_claims (operation, key_name, key, request_hash, resource_id, attempted_at, owner,
       leased_until, created_at, completed_at)
     select 'payments.create', 'shop', 'unsettled-' || minutes, '', gen_random_uuid(), now(), 0,
       now() - make_interval(mins => minutes), now(), case minutes when 90 then now() end
     from unnest(array[4, 6, 60, 90]) as minutes`,
  );
  const { endpoints, webhookEvents, claims } = await attention();
  assert.deepEqual(
    endpoints?.data.map(({ url, enabled }) => [url, enabled]),
    [
      ['https://two.example.com/', false],
      ['https://one.example.com/', true],
    ],
  );
  assert.deepEqual(
    webhookEvents?.data.map(({ objectId, lastError }) => [objectId, lastError]),
    [['pi_fails', 'It failed.']],
  );
  assert.deepEqual([endpoints?.total, webhookEvents?.total, claims?.total], [2, 1, 2]);
  assert.deepEqual([...new Set(claims?.data.map(({ operation }) => operation))], ['payments.create']);
});

test('without the scope operate, only disputes and subscriptions are shown', async () => {
  const { key } = await till.post<{ key: string }>('/api-keys', { name: 'reader', scopes: ['read'] });
  const response = await fetch(`${till.url}/api/v1/attention`, { headers: { 'x-api-key': key } });
  const { disputes, pastDue, ...rest } = (await response.json()) as Attention;
  assert.ok(disputes.total >= 0 && pastDue.total > 0);
  assert.deepEqual(rest, { endpoints: null, webhookEvents: null, claims: null });
});
