import assert from 'node:assert/strict';
import { test } from 'node:test';
import { effort } from '../../test/support/effort.ts';
import { attemptPayment, createPaymentIntent } from '../payments/payment-intent.ts';
import { usablePaymentMethod } from '../payments/payment-method.ts';
import { operations } from '../resources/operations.ts';
import { Store } from '../state/store.ts';
import { parseForm } from '../wire/form.ts';
import type { Call } from '../wire/operation.ts';

const intentCount = effort({ short: 5_000, long: 100_000 });
const customerCount = 200;
const start = 1_800_000_000;

function run(
  store: Store,
  name: string,
  id: string,
  form: string,
): { data: { id: string; created: number }[]; has_more: boolean; id: string } {
  const operation = operations.find((candidate) => candidate.name === name);
  assert.ok(operation);
  const call: Call = { store, id, fromBrowser: false, accountId: 'acct_sandbox', version: null };
  // Lists and objects are looked at for what both may have.
  return operation.run(call, parseForm(form)) as {
    data: { id: string; created: number }[];
    has_more: boolean;
    id: string;
  };
}

/** Paid intents of 200 customers and the three events of each, one second apart. */
function filledStore(): { store: Store; intentIds: string[] } {
  const store = new Store();
  const intentIds: string[] = [];
  for (let index = 0; index < intentCount; index++) {
    store.clock.holdAt(start + index);
    store.transact(null, () => {
      const intent = createPaymentIntent(store, {
        amount: 1_000,
        currency: 'usd',
        customer: `cus_${index % customerCount}`,
        metadata: { till_id: `till-${index}` },
        automatic_payment_methods: null,
      });
      const method = usablePaymentMethod(store, 'pm_card_visa', null);
      attemptPayment(store, intent, method, { offSession: true });
      intentIds.push(intent.id);
    });
  }
  return { store, intentIds };
}

test('with thousands of payment intents and their events no read looks at more than it returns', () => {
  const { store, intentIds } = filledStore();
  assert.equal(store.paymentIntents.size, intentCount);
  assert.equal(store.events.size, 3 * intentCount);
  const visits = (collection: 'paymentIntents' | 'events', work: () => void): number => {
    const before = store[collection].visited;
    work();
    return store[collection].visited - before;
  };
  const middle = intentIds[intentCount / 2] ?? '';

  assert.equal(
    visits('paymentIntents', () =>
      assert.equal(run(store, 'payment_intents.retrieve', middle, '').id, middle),
    ),
    0,
  );
  const page = (form: string, count: number) => () => {
    const { data, has_more } = run(store, 'payment_intents.list', '', form);
    assert.deepEqual([data.length, has_more], [count, true]);
  };
  assert.equal(visits('paymentIntents', page('limit=100', 100)), 101);
  assert.equal(visits('paymentIntents', page(`limit=100&starting_after=${middle}`, 100)), 101);
  assert.equal(visits('paymentIntents', page(`limit=100&ending_before=${middle}`, 100)), 101);
  assert.equal(visits('paymentIntents', page('limit=20&customer=cus_7', 20)), 21);
  assert.equal(visits('paymentIntents', page(`limit=10&created[lte]=${start + intentCount / 2}`, 10)), 11);
  const found = () => {
    const { data } = run(store, 'payment_intents.search', '', `query=metadata['till_id']:'till-4711'`);
    assert.deepEqual(
      data.map(({ id }) => id),
      [intentIds[4_711]],
    );
  };
  assert.equal(visits('paymentIntents', found), 1);

  const since = start + intentCount - 10;
  const events = () => {
    const { data } = run(
      store,
      'events.list',
      '',
      `limit=100&created[gte]=${since}&types[]=payment_intent.succeeded`,
    );
    assert.equal(data.length, 10);
  };
  assert.equal(visits('events', events), 30);
});
