import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import {
  type CreatedPaymentBody,
  type CustomerBody,
  createCustomer,
  createPaidPayment,
  type PaymentBody,
  readPayment,
} from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

const card = 'pm_card_createDispute';

/** Till on a processor whose webhooks never arrive, and a disputed payment beside one that is not. */
async function startDeaf(t: TestContext) {
  const till = await startTill({ in: 'process', for: t });
  await till.control('delivery', { mode: 'drop' });
  const payment = await createPaidPayment(till, { card });
  await createPaidPayment(till, { customerId: payment.customerId });
  await till.control('clock', { advanceSeconds: 0 });
  return { till, payment };
}

const statusOf = async (till: TillInProcess, payment: PaymentBody) =>
  (await readPayment(till, payment)).dispute?.status;
const listings = (till: TillInProcess) =>
  till.count('processor_request_duration_seconds', { operation: 'disputes.list' });

describe('a dispute that no webhook reported', () => {
  test('is found by recovery in the list of events', async (t) => {
    const { till, payment } = await startDeaf(t);
    await till.services.recovery.run();
    await till.drain();
    assert.equal(await statusOf(till, payment), 'needs_response');
    assert.equal(await till.count('payments_disputed_total'), 1);
  });

  test('is found by recovery when it rereads an open payment', async (t) => {
    const { till, payment } = await startDeaf(t);
    await till.sql(`update till.payments set created_at = now() - interval '11 minutes'`);
    await till.sql('update till.recovery set read_until = now()');
    await till.services.recovery.run();
    assert.equal(await statusOf(till, payment), 'needs_response');
    assert.equal(await listings(till), 1, 'the other payment has no dispute to read');
  });

  for (const which of ['all', 'ofCustomer'] as const) {
    test(`is found, and corrected, by a resync: ${which}`, async (t) => {
      const { till, payment } = await startDeaf(t);
      const resync = async () => {
        if (which === 'all') await till.services.resync.all();
        else await till.services.resync.ofCustomer(payment.customerId);
      };
      await resync();
      assert.equal(await statusOf(till, payment), 'needs_response');
      // The dispute ends, more than 30 days before the resync.
      await till.control('clock', { advanceSeconds: 40 * 86_400 });
      await resync();
      assert.equal(await statusOf(till, payment), 'lost');
      const drift = () => till.count('mirror_drift_total');
      const before = await drift();
      await resync();
      assert.equal(await drift(), before, 'what is true is left alone');
      assert.equal(await till.count('payments_disputed_total'), 1);
    });
  }

  test('of a payment that Till did not create needs no read in a resync', async (t) => {
    const { till } = await startDeaf(t);
    await till.stripe.paymentIntents.create({
      ...{ amount: 700, currency: 'eur', payment_method: card, confirm: true },
      return_url: 'https://shop.example.com/done',
    });
    await till.control('clock', { advanceSeconds: 0 });
    await till.services.resync.all();
    const reads = await till.count('processor_request_duration_seconds', { operation: 'payments.read' });
    await till.services.resync.all();
    const again = await till.count('processor_request_duration_seconds', { operation: 'payments.read' });
    assert.equal(again, reads);
  });
});

test('a charge of a saved card that was disputed before its row was written shows the dispute', async (t) => {
  const till = await startTill({ in: 'process', for: t, limits: { retriesMax: 0 } });
  await till.control('delivery', { mode: 'drop' });
  const customer: CustomerBody = await createCustomer(till);
  const { id: paymentMethodId } = await till.stripe.paymentMethods.attach(card, {
    customer: customer.processorCustomerId,
  });
  const order = { customerId: customer.id, amount: 900, currency: 'eur', paymentMethodId, offSession: true };
  const charge = (key: string) => till.call('POST', '/payments', { ...order, idempotencyKey: key });
  const resolve = {
    'the same request, a day later': async (key: string) => {
      const { payment }: CreatedPaymentBody = Object(await (await charge(key)).json());
      return payment;
    },
    'the sweeper': async () => {
      await till.services.sweeper.sweep();
      const [row] = await till.sql<{ id: string }>('select id from till.payments order by id desc limit 1');
      return readPayment(till, { id: row?.id ?? '' });
    },
  };
  for (const [how, recorded] of Object.entries(resolve)) {
    await till.setFault({ operation: 'payment_intents.create', kind: 'reset_after' });
    assert.equal((await charge(how.replaceAll(' ', '-'))).status, 503);
    await till.control('clock', { advanceSeconds: 0 });
    await till.sql(
      `update till.idempotency_claims set attempted_at = attempted_at - interval '1 day',
         created_at = created_at - interval '1 day', leased_until = leased_until - interval '1 day'
       where completed_at is null`,
    );
    const { status, dispute } = await recorded(how.replaceAll(' ', '-'));
    assert.deepEqual([status, dispute?.status], ['succeeded', 'needs_response'], how);
  }
});
