import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRig } from './rig/rig.ts';

/** The rig itself: that it passes what is whole, and finds each loss that the tests beside this one look for. */
test('the checker passes an undamaged service, and finds everything that the test makes it lose', async (t) => {
  const rig = await startRig(t);
  const load = rig.startLoad();
  await load.progressed(60);
  const health = rig.watchHealth();
  await health.says([], performance.now(), 2_000);
  await rig.check(load, { failures: [] });
  t.diagnostic(`${load.ledger.client.attempts.length} requests, ${load.ledger.made.length} created`);

  const finds = async (loss: string, expected: RegExp) => {
    await rig.sql(loss);
    await assert.rejects(rig.check(load, { failures: [] }), expected, loss);
  };
  const payment = load.ledger.made.find(({ kind }) => kind === 'payments');
  assert(payment);
  // A dispute that the processor does not know.
  await finds(
    `update till.payments set dispute = '{"status": "lost"}' where id = '${payment.id}'`,
    /payments/,
  );
  await rig.sql(`update till.payments set dispute = null where id = '${payment.id}'`);
  await finds(`update till.payments set amount = 1 where id = '${payment.id}'`, /payments/);
  await finds(
    `update till.idempotency_claims set completed_at = null where resource_id = '${payment.id}'`,
    /left half done/,
  );
  const { customer } = await rig.stripe.paymentIntents.retrieve(payment.processorId);
  const again = { amount: Number(payment.mark), currency: 'eur', metadata: { till_id: 'another' } };
  await rig.stripe.paymentIntents.create({ ...again, customer: String(customer) });
  await finds('select 1', /not exactly once/);
  await finds(
    `delete from till.webhook_events where id = (select min(id) from till.webhook_events)`,
    /were acknowledged, and are lost or not processed/,
  );
});
