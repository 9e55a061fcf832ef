import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Backend, startBackend } from '../support/backend.ts';
import type { Answer, Client } from '../support/client.ts';
import { crashPoints } from '../support/crash-points.ts';
import { killAmid } from '../support/doomed-tills.ts';
import { effort, rotation } from '../support/effort.ts';
import { inTurn } from '../support/in-turn.ts';
import { chargesOf, createUnpaid, type Unpaid } from '../support/past-due.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

/** A subscription that missed three periods, and a request to pay its latest invoice, which is a draft. */
interface Scene extends Unpaid {
  readonly key: string;
  readonly isDeclined: boolean;
}

async function setScene(
  backend: Backend,
  till: TillInProcess,
  values: Pick<Scene, 'key' | 'isDeclined'>,
): Promise<Scene> {
  const unpaid = await createUnpaid({ ...till, ...backend }, 3);
  return { ...unpaid, ...values };
}

/** Sets several scenes. The clock that one needs to miss its periods moves those before it, which then miss more. */
async function setScenes(
  backend: Backend,
  till: TillInProcess,
  values: readonly Pick<Scene, 'key' | 'isDeclined'>[],
): Promise<readonly Scene[]> {
  const scenes = await inTurn(values, (one) => setScene(backend, till, one));
  return inTurn(scenes, async (scene) => {
    const { processorSubscriptionId: subscription } = scene.subscription;
    const { data } = await backend.stripe.invoices.list({ subscription, limit: 100 });
    const [newest, ...older] = data.filter(({ status }) => status !== 'paid').map(({ id }) => String(id));
    return { ...scene, invoiceIds: [String(newest), ...older] as const };
  });
}

function send(till: Pick<Client, 'tryPost'>, scene: Scene): Promise<Answer> {
  const { subscription, goodCard, badCard, isDeclined, key } = scene;
  const paymentMethodId = isDeclined ? badCard : goodCard;
  return till.tryPost(`/subscriptions/${subscription.id}/pay`, { paymentMethodId }, key);
}

const statusesOf = ({ stripe }: Backend, { invoiceIds }: Scene) =>
  Promise.all(invoiceIds.map(async (id) => (await stripe.invoices.retrieve(id)).status));

/**
 * The same request again ends as if nothing had happened, and again. The latest invoice was charged once, and no other.
 */
async function assertFinished(backend: Backend, till: TillInProcess, scene: Scene): Promise<void> {
  const { isDeclined, invoiceIds, subscription } = scene;
  for (const isRepeated of [false, true]) {
    const { status, body, replayed } = await send(till, scene);
    if (isRepeated) assert.equal(replayed, true);
    if (isDeclined) assert.deepEqual([status, body['code']], [402, 'payment_declined']);
    else {
      assert.deepEqual([status, body['status']], [200, 'active'], JSON.stringify(body));
      assert.equal(Object(body['olderUnpaidInvoiceIds']).length, invoiceIds.length - 1);
    }
  }
  const [latest, ...older] = await statusesOf(backend, scene);
  assert.deepEqual([latest, older.pop()], [isDeclined ? 'open' : 'paid', 'open']);
  assert.ok(older.every((status) => status === 'draft'));
  assert.deepEqual(await chargesOf(backend, invoiceIds[0]), { attempts: 1, successes: isDeclined ? 0 : 1 });
  const { auto_advance: advances } = await backend.stripe.invoices.retrieve(invoiceIds[0]);
  assert.equal(advances, false);
  const { status } = await backend.stripe.subscriptions.retrieve(subscription.processorSubscriptionId);
  assert.equal(status, isDeclined ? 'unpaid' : 'active');
}

/** Of a payment: whether it is declined. */
const nextOutcomes = rotation([false, true], 1);

test('a process killed at any crash point leaves a payment that the same request finishes, once', async (t) => {
  const walks = await inTurn(crashPoints, async (crashPoint) => {
    const backend = await startBackend(t);
    const survivor = await startTill({ in: 'process', on: backend });
    const scenes = await setScenes(
      backend,
      survivor,
      nextOutcomes().map((isDeclined) => ({ isDeclined, key: `killed-${isDeclined}` })),
    );
    return { crashPoint, backend, survivor, scenes };
  });
  await killAmid(
    walks.map(({ crashPoint, backend, scenes }) => ({
      on: backend,
      crashAt: crashPoint,
      requests: scenes.map((scene) => ({ send: (till) => send(till, scene) })),
    })),
  );
  for (const { crashPoint, backend, survivor, scenes } of walks)
    await t.test(`killed at ${crashPoint}`, async () => {
      for (const scene of scenes) await assertFinished(backend, survivor, scene);
    });
});

/** Each call to the processor of a payment, in its order. */
const calls = [
  'invoices.list',
  'subscriptions.retrieve',
  'payment_methods.retrieve',
  'invoices.finalize',
  'invoices.pay',
];

test('a call that breaks, before or after its effect, leaves a payment that the same request finishes', async (t) => {
  const backend = await startBackend(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  for (const operation of calls)
    for (const kind of effort({
      short: ['reset_after'],
      long: ['reset_before', 'reset_after', 'error'],
    } as const))
      for (const isDeclined of nextOutcomes())
        await t.test(`${operation} ${kind}, ${isDeclined ? 'declined' : 'paid'}`, async () => {
          const scene = await setScene(backend, hasty, {
            isDeclined,
            key: `${operation}-${kind}-${isDeclined}`,
          });
          await backend.setFault({ operation, kind });
          const first = await send(hasty, scene);
          assert.equal(first.status, 503, JSON.stringify(first));
          await assertFinished(backend, hasty, scene);
        });
});

test('the sweeper completes a payment that was charged, and charges none that only finalized its invoice', async (t) => {
  const backend = await startBackend(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const [finalized, created] = await setScenes(backend, hasty, [
    { isDeclined: false, key: 'swept-finalized' },
    { isDeclined: false, key: 'swept-made' },
  ]);
  assert(finalized !== undefined && created !== undefined);
  await backend.setFault({ operation: 'invoices.pay', kind: 'reset_before' });
  assert.equal((await send(hasty, finalized)).status, 503);
  await backend.setFault({ operation: 'invoices.pay', kind: 'reset_after' });
  assert.equal((await send(hasty, created)).status, 503);
  await backend.sql(
    `update till.idempotency_claims set attempted_at = attempted_at - interval '2 minutes',
       leased_until = now() - interval '2 minutes' where completed_at is null`,
  );
  await hasty.services.sweeper.sweep();
  const completed = await backend.sql(
    `select key from till.idempotency_claims where key like 'swept-%' and completed_at is not null`,
  );
  assert.deepEqual(completed, [{ key: 'swept-made' }]);
  assert.equal((await statusesOf(backend, finalized))[0], 'open');
  assert.equal((await chargesOf(backend, finalized.invoiceIds[0])).attempts, 0);
  for (const scene of [created, finalized]) await assertFinished(backend, hasty, scene);
});
