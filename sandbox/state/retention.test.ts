import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPaymentIntent } from '../payments/payment-intent.ts';
import { usablePaymentMethod } from '../payments/payment-method.ts';
import { SandboxClock } from './sandbox-clock.ts';
import { Store } from './store.ts';

const retention = { eventsMax: 5, memosMax: 3, spentMax: 2 };

function smallStore(): Store {
  return new Store(new SandboxClock(() => 1_800_000_000_000), retention);
}

test('a store keeps the newest events and responses, and events that are not delivered', () => {
  const store = smallStore();
  store.builtInEndpointId = 'we_builtin';
  const emit = (number: number) =>
    store.transact(null, () => {
      store.emit('product.created', { id: `prod_${number}`, object: 'product' });
      store.remember(`key-${number}`, {
        path: '/',
        fingerprint: '',
        status: 200,
        body: {},
        atMs: 1_800_000_000_000,
      });
    });
  for (let number = 0; number < 30; number++) {
    emit(number);
    const event = [...store.events.values()].at(-1);
    // The first two events are never delivered.
    if (number > 1) store.noteDelivery(event?.id ?? '', 'we_builtin', 'delivered');
  }
  store.forgetExpired();
  assert.deepEqual(
    [...store.events.values()].map(({ subject }) => subject.id),
    ['prod_0', 'prod_1', 'prod_27', 'prod_28', 'prod_29'],
  );
  const nowMs = store.clock.realNowMs();
  assert.equal(store.memos.size, 3);
  assert.equal(store.memos.find('key-26', nowMs), undefined);
  assert.equal(store.memos.find('key-29', nowMs)?.status, 200);
});

test('a store keeps the last deleted customers, after a restart as before', () => {
  const store = smallStore();
  for (const id of ['cus_1', 'cus_2', 'cus_3', 'cus_4'])
    store.transact(null, () => store.put(store.customers, { id, object: 'customer', deleted: true }));
  const kept = (from: Store) => [...from.customers.values()].map(({ id }) => id);
  assert.deepEqual(kept(store), ['cus_3', 'cus_4']);
  const copy = smallStore();
  for (const line of store.snapshot()) copy.restore(JSON.parse(JSON.stringify(line)));
  assert.deepEqual(kept(copy), ['cus_3', 'cus_4']);
});

test('a payment method stays as long as a payment or a customer has it', () => {
  const store = smallStore();
  const add = () => store.transact(null, () => usablePaymentMethod(store, 'pm_card_visa', null));
  const paid = add();
  const attached = add();
  store.transact(null, () => {
    const input = {
      amount: 500,
      currency: 'eur',
      customer: null,
      metadata: {},
    };
    const intent = createPaymentIntent(store, input);
    store.change(store.paymentIntents, intent, { payment_method: paid.id });
    store.change(store.paymentMethods, attached, { customer: 'cus_1' });
  });
  const unused = [add(), add(), add()];
  assert.deepEqual(
    [...store.paymentMethods.values()].map(({ id }) => id),
    [paid.id, attached.id, ...unused.slice(1).map(({ id }) => id)],
  );
});
