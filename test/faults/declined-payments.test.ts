import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Backend, startBackend } from '../support/backend.ts';
import type { Answer, Client } from '../support/client.ts';
import { crashPoints } from '../support/crash-points.ts';
import { killAmid } from '../support/doomed-tills.ts';
import { createSubscription } from '../support/objects.ts';
import { chargesOf } from '../support/past-due.ts';
import { expireTurns } from '../support/subscription-turns.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

interface Scene {
  readonly backend: Backend;
  readonly unpaidSubscriptionId: string;
  readonly unpaidInvoiceId: string;
  readonly cardId: string;
  readonly badCardId: string;
}

/** An unpaid subscription whose customer has a card that is declined, and one that is not. */
async function setScene(backend: Backend, till: TillInProcess): Promise<Scene> {
  const { subscriptions, paymentMethods } = backend.stripe;
  const { subscription } = await createSubscription(till);
  const there = await subscriptions.retrieve(subscription.processorSubscriptionId);
  const attach = async (card: string) =>
    (await paymentMethods.attach(card, { customer: String(there.customer) })).id;
  return {
    backend,
    unpaidSubscriptionId: subscription.id,
    unpaidInvoiceId: String(there.latest_invoice),
    cardId: await attach('pm_card_visa'),
    badCardId: await attach('pm_card_chargeCustomerFail'),
  };
}

function pay(
  till: Pick<Client, 'tryPost'>,
  { unpaidSubscriptionId }: Scene,
  paymentMethodId: string,
  key: string,
): Promise<Answer> {
  return till.tryPost(`/subscriptions/${unpaidSubscriptionId}/pay`, { paymentMethodId }, key);
}

interface Death {
  readonly scene: Scene;
  readonly card: string;
  readonly key: string;
  readonly crashPoint: string;
}

/** Sends the requests to a process that dies when each is at its crash point. */
async function payAndDie(...deaths: readonly Death[]): Promise<void> {
  await killAmid(
    deaths.map(({ scene, card, key, crashPoint }) => ({
      on: scene.backend,
      crashAt: crashPoint,
      requests: [{ send: (till) => pay(till, scene, card, key) }],
    })),
  );
}

const withoutRequestId = ({ status, body: { requestId: _, ...body } }: Answer) => ({ status, body });

/** The same request again returns the decline, and does not charge again. */
async function assertDeclined(till: TillInProcess, scene: Scene, key: string): Promise<void> {
  const { backend, badCardId, cardId, unpaidInvoiceId } = scene;
  const finished = await pay(till, scene, badCardId, key);
  assert.deepEqual(
    [finished.status, finished.body['code'], finished.body['declineCode'], finished.body['detail']],
    [402, 'payment_declined', 'generic_decline', 'Your card was declined.'],
  );
  assert.deepEqual(await chargesOf(backend, unpaidInvoiceId), { attempts: 1, successes: 0 });
  const repeated = await pay(till, scene, badCardId, key);
  assert.equal(repeated.replayed, true);
  assert.deepEqual(withoutRequestId(repeated), withoutRequestId(finished));
  assert.deepEqual(await chargesOf(backend, unpaidInvoiceId), { attempts: 1, successes: 0 });
  // A process that died after it recorded the decline still has the turn.
  await expireTurns(backend);
  const other = await pay(till, scene, cardId, `${key}-other`);
  assert.deepEqual([other.status, other.body['status']], [200, 'active']);
  assert.deepEqual(await chargesOf(backend, unpaidInvoiceId), { attempts: 2, successes: 1 });
}

async function makeOlder({ sql }: Backend, interval: string): Promise<void> {
  await sql(
    `update till.idempotency_claims set attempted_at = attempted_at - $1::interval,
       created_at = created_at - $1::interval, leased_until = now() - interval '2 minutes'
     where completed_at is null`,
    [interval],
  );
}

test('a process killed at any crash point never turns a decline into a second attempt with its idempotency key', async (t) => {
  const deaths = await Promise.all(
    crashPoints.map(async (crashPoint) => {
      const backend = await startBackend(t);
      const survivor = await startTill({ in: 'process', on: backend });
      const scene = await setScene(backend, survivor);
      return { survivor, scene, card: scene.badCardId, key: `declined-${crashPoint}`, crashPoint };
    }),
  );
  await payAndDie(...deaths);
  for (const { survivor, scene, key, crashPoint } of deaths)
    await t.test(`killed at ${crashPoint}`, () => assertDeclined(survivor, scene, key));
});

test('after the processor has forgotten the idempotency key, or before', async (t) => {
  const backend = await startBackend(t);
  const survivor = await startTill({ in: 'process', on: backend });
  const [declined, paid, untried, chosen] = [
    await setScene(backend, survivor),
    await setScene(backend, survivor),
    await setScene(backend, survivor),
    await setScene(backend, survivor),
  ];
  const otherOfPaid = await billMore(paid);
  const otherOfChosen = await billMore(chosen);
  await payAndDie(
    { scene: declined, card: declined.badCardId, key: 'old-decline', crashPoint: 'call.after' },
    { scene: paid, card: paid.cardId, key: 'old-payment', crashPoint: 'call.after' },
    { scene: untried, card: untried.cardId, key: 'old-nothing', crashPoint: 'call.before' },
    { scene: chosen, card: chosen.cardId, key: 'chosen', crashPoint: 'call.after' },
  );

  await t.test('a request that died after it chose its invoice pays no other one', async () => {
    const { status } = await pay(survivor, chosen, chosen.cardId, 'chosen');
    assert.equal(status, 200);
    assert.deepEqual(await chargesOf(backend, chosen.unpaidInvoiceId), { attempts: 1, successes: 1 });
    assert.equal((await chargesOf(backend, otherOfChosen)).attempts, 0);
  });

  await makeOlder(backend, '24 hours');

  await t.test('a decline is still a decline', () => assertDeclined(survivor, declined, 'old-decline'));

  await t.test('a payment is not repeated, and no other invoice is paid instead', async () => {
    assert.equal((await chargesOf(backend, paid.unpaidInvoiceId)).successes, 1);
    const { status } = await pay(survivor, paid, paid.cardId, 'old-payment');
    assert.equal(status, 200);
    assert.equal((await chargesOf(backend, otherOfPaid)).attempts, 0);
    assert.equal((await chargesOf(backend, paid.unpaidInvoiceId)).attempts, 1);
  });

  await t.test('a payment that was never attempted is charged', async () => {
    const { status, body } = await pay(survivor, untried, untried.cardId, 'old-nothing');
    assert.deepEqual([status, body['status']], [200, 'active']);
    assert.deepEqual(await chargesOf(backend, untried.unpaidInvoiceId), { attempts: 1, successes: 1 });
  });
});

test('the sweeper finds a payment, and neither attempts one nor settles a decline that can still be repeated', async (t) => {
  const backend = await startBackend(t);
  const survivor = await startTill({ in: 'process', on: backend });
  const isCompleted = async (key: string) => {
    const [claim] = await backend.sql<{ completed: boolean; failed: boolean }>(
      `select completed_at is not null as completed, failure is not null as failed
       from till.idempotency_claims where key = $1`,
      [key],
    );
    return claim && [claim.completed, claim.failed];
  };
  const [paid, declined, untried] = [
    await setScene(backend, survivor),
    await setScene(backend, survivor),
    await setScene(backend, survivor),
  ];
  await payAndDie(
    { scene: paid, card: paid.cardId, key: 'swept-paid', crashPoint: 'call.after' },
    { scene: declined, card: declined.badCardId, key: 'swept-declined', crashPoint: 'call.after' },
    { scene: untried, card: untried.cardId, key: 'swept-untried', crashPoint: 'call.before' },
  );
  await makeOlder(backend, '2 minutes');
  await survivor.services.sweeper.sweep();
  assert.deepEqual(await isCompleted('swept-paid'), [true, false]);
  assert.deepEqual(await isCompleted('swept-declined'), [false, false]);
  assert.deepEqual(await isCompleted('swept-untried'), [false, false]);
  const replay = await pay(survivor, paid, paid.cardId, 'swept-paid');
  assert.deepEqual([replay.status, replay.replayed, replay.body['status']], [200, true, 'active']);
  await makeOlder(backend, '24 hours');
  await backend.sql('update till.idempotency_claims set looked_at = null');
  await survivor.services.sweeper.sweep();
  assert.deepEqual(await isCompleted('swept-declined'), [true, true]);
  assert.equal((await chargesOf(backend, declined.unpaidInvoiceId)).attempts, 1);
  assert.equal((await chargesOf(backend, untried.unpaidInvoiceId)).attempts, 0);
  const again = await pay(survivor, declined, declined.badCardId, 'swept-declined');
  assert.deepEqual([again.status, again.replayed, again.body['declineCode']], [402, true, 'generic_decline']);
});

test('a failed response to a declined attempt is repeated as the decline that it was', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  for (const kind of ['error', 'reset_after'] as const)
    await t.test(kind, async () => {
      const scene = await setScene(backend, till);
      const key = `lost-${kind}`;
      await backend.setFault({ operation: 'invoices.pay', kind, times: 3 });
      const { badCardId, unpaidInvoiceId } = scene;
      const first = await pay(till, scene, badCardId, key);
      assert.ok(first.status === 503 || first.status === 402, JSON.stringify(first));
      await backend.clearFaults();
      await assertDeclined(till, scene, key);
      assert.equal((await chargesOf(backend, unpaidInvoiceId)).successes, 1);
    });
});

/** Bills the subscription once more, by hand. Returns the new invoice, which is open: the next one to pay. */
async function billMore({ backend, unpaidInvoiceId }: Scene): Promise<string> {
  const { stripe } = backend;
  const { customer, parent } = await stripe.invoices.retrieve(unpaidInvoiceId);
  await backend.control('clock', { advanceSeconds: 1 });
  await stripe.invoiceItems.create({ customer: String(customer), amount: 500, currency: 'eur' });
  const { id } = await stripe.invoices.create({
    customer: String(customer),
    subscription: String(parent?.subscription_details?.subscription),
  });
  await stripe.invoices.finalizeInvoice(String(id), { auto_advance: false });
  return String(id);
}
