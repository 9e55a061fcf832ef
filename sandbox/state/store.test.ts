import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createPaymentIntent } from '../payments/payment-intent.ts';
import { Journal } from './journal.ts';
import { SandboxClock } from './sandbox-clock.ts';
import { Store } from './store.ts';

const intent = {
  amount: 1,
  currency: 'usd',
  customer: null,
  metadata: { k: 'v' },
};

function contents(store: Store) {
  return {
    intents: [...store.paymentIntents.values()],
    events: [...store.events.values()],
    pending: [...store.events.values()].map(({ id }) => store.deliveries.countOf(id)),
    memos: [...store.memos.entries()],
    settings: store.settings,
  };
}

test('work that throws leaves nothing behind', () => {
  const store = new Store();
  store.transact(null, () => createPaymentIntent(store, intent));
  const before = contents(store);
  assert.throws(() =>
    store.transact(null, () => {
      const [first] = [...store.paymentIntents.values()];
      assert.ok(first);
      store.change(store.paymentIntents, first, { metadata: {}, status: 'canceled' });
      createPaymentIntent(store, intent);
      throw new Error('no');
    }),
  );
  assert.deepEqual(contents(store), before);
  assert.equal(store.paymentIntents.allWithin('metadata', 'k=v').length, 1);
});

test('a snapshot restores the same state', () => {
  const store = new Store();
  store.builtInEndpointId = 'we_x';
  for (let count = 0; count < 3; count++)
    store.transact({ requestId: 'req', idempotencyKey: `key${count}` }, () => {
      const body = createPaymentIntent(store, intent);
      store.remember(`key${count}`, {
        path: '/v1',
        fingerprint: 'f',
        status: 200,
        body,
        atMs: store.clock.realNowMs(),
      });
    });
  const [first, second] = [...store.events.values()];
  store.noteDelivery(first?.id ?? '', 'we_x', 'delivered');
  store.noteDelivery(second?.id ?? '', 'we_x', 'given_up');
  store.changeSettings({ deliveryMode: 'paused' });
  const copy = new Store();
  for (const line of store.snapshot()) copy.restore(JSON.parse(JSON.stringify(line)));
  assert.deepEqual(contents(copy), contents(store));
  assert.deepEqual([...copy.deliveries.waiting()].length, 1);
});

test('a snapshot leaves out events that can no longer be listed', () => {
  const store = new Store();
  store.transact(null, () => createPaymentIntent(store, intent));
  store.clock.runOnFrom(store.now() + 31 * 86_400);
  const copy = new Store();
  for (const line of store.snapshot()) copy.restore(JSON.parse(JSON.stringify(line)));
  assert.deepEqual([copy.paymentIntents.size, copy.events.size], [1, 0]);
});

test('events never go back in time, whatever the machine’s clock does', () => {
  let realNowMs = 1_800_000_000_000;
  const store = new Store(new SandboxClock(() => realNowMs));
  store.transact(null, () => createPaymentIntent(store, intent));
  realNowMs -= 3_600_000;
  store.transact(null, () => createPaymentIntent(store, intent));
  const [first, second] = [...store.events.values()].map(({ created }) => created);
  assert.equal(second, first);
});

test('remembered responses expire after a day of real time', () => {
  let realNowMs = 1_800_000_000_000;
  const store = new Store(new SandboxClock(() => realNowMs));
  const memo = { path: '/v1', fingerprint: 'f', status: 200, body: {}, atMs: realNowMs };
  store.transact(null, () => store.remember('key', memo));
  realNowMs += 24 * 3_600_000 - 1;
  assert.deepEqual(store.memos.find('key', realNowMs), memo);
  realNowMs += 1;
  assert.equal(store.memos.find('key', realNowMs), undefined);
});

test('what changes while the store is reset is both in memory and in the journal, or in neither', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'till-store-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'journal.jsonl');
  const store = new Store();
  const journal = await Journal.open(path, () => {});
  store.keepIn(journal);
  store.transact(null, () => createPaymentIntent(store, intent));
  const reset = store.reset();
  const changes = Array.from({ length: 20 }, async () => {
    store.transact(null, () => createPaymentIntent(store, intent));
    await store.written();
    store.transact(null, () => createPaymentIntent(store, intent));
    await store.written();
  });
  await Promise.all([reset, ...changes]);
  await journal.close();
  const copy = new Store();
  await (await Journal.open(path, (line) => copy.restore(line))).close();
  assert.deepEqual(contents(copy), contents(store));
});
