import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Store } from '../state/store.ts';
import { Due } from './due.ts';

/** A store whose journal is slow. */
class SlowStore extends Store {
  journalWrite = Promise.resolve();

  override async written(): Promise<void> {
    await this.journalWrite;
  }
}

test('a test clock that advances again while its last step is being written reaches the new time', async (t) => {
  const store = new SlowStore();
  const due = new Due(store, (fields, message) => assert.fail(`${message} ${JSON.stringify(fields)}`));
  t.after(() => due.close());
  const advance = (frozen_time: number) =>
    store.transact(null, () =>
      store.put(store.testClocks, {
        id: 'clock_1',
        object: 'test_helpers.test_clock',
        created: store.now(),
        deletes_after: store.now() + 86_400,
        frozen_time: 1_000,
        livemode: false,
        name: null,
        status: 'advancing',
        status_details: { advancing: { target_frozen_time: frozen_time } },
      }),
    );
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const { promise, resolve } = Promise.withResolvers<void>();
  store.journalWrite = promise;
  advance(2_000);
  await turn();
  await turn();
  assert.deepEqual(
    [store.testClocks.get('clock_1')?.status, store.testClocks.get('clock_1')?.frozen_time],
    ['ready', 2_000],
  );
  advance(3_000);
  resolve();
  for (let turns = 0; turns < 5; turns++) await turn();
  assert.deepEqual(
    [store.testClocks.get('clock_1')?.status, store.testClocks.get('clock_1')?.frozen_time],
    ['ready', 3_000],
  );
});

test('the clock runs on from the time that it was moved to, even if an event happened in that very second', async (t) => {
  const store = new Store();
  const due = new Due(store, (fields, message) => assert.fail(`${message} ${JSON.stringify(fields)}`));
  t.after(() => due.close());
  const weekLater = store.now() + 7 * 86_400;
  store.clock.note(weekLater);
  await due.advanceTo(weekLater);
  const realNow = Math.floor(store.clock.realNowMs() / 1_000);
  assert.ok(realNow + store.clock.offsetSeconds >= weekLater);
});
