import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { operations } from '../resources/operations.ts';
import { Store } from '../state/store.ts';
import { Manners } from './manners.ts';

const create = operations.find(({ name }) => name === 'payment_intents.create');
/** Longer than the latency of any request. */
const longestMs = 10_000;

/** A request that waits, on a clock that stands still. */
function waiting(t: TestContext, gone: Promise<void> = new Promise(() => {})) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const store = new Store();
  const manners = new Manners(store);
  store.changeSettings({ mannersSeed: 3 });
  const current = manners.current();
  assert.ok(create !== undefined && current !== null);
  const done: string[] = [];
  const call = { store, id: '', fromBrowser: false, accountId: 'acct_x', version: null };
  const served = current.serve({ operation: create, call, form: new Map(), gone }, async () => {
    done.push('work');
    return 'response';
  });
  served.then((response) => done.push(String(response)));
  return { manners, done, served };
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

test('the work is done within the latency of the request, and the response follows after the rest of it', async (t) => {
  const { done } = waiting(t);
  await settle();
  assert.deepEqual(done, []);
  t.mock.timers.tick(longestMs);
  await settle();
  assert.deepEqual(done, ['work']);
  t.mock.timers.tick(longestMs);
  await settle();
  assert.deepEqual(done, ['work', 'response']);
});

test('the work of a caller who disconnects is done at once', async (t) => {
  const { served } = waiting(t, Promise.resolve());
  assert.equal(await served, 'response');
});

test('without manners again, a request waits no longer', async (t) => {
  const { manners, done } = waiting(t);
  manners.restart();
  await settle();
  assert.deepEqual(done, ['work']);
});

test('a request that has not begun its work when the sandbox stops never does', async (t) => {
  const { manners, done, served } = waiting(t);
  manners.close();
  assert.equal(await served, null);
  assert.deepEqual(done, ['null']);
});
