import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Store } from '../state/store.ts';
import { Due, Schedule } from './due.ts';

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

test('items come out in order of due time, each once, without obsolete ones', () => {
  const gone = new Set(['sub_2']);
  const schedule = new Schedule(({ id }) => !gone.has(id));
  for (const [at, id] of [
    [30, 'sub_3'],
    [10, 'sub_1'],
    [20, 'sub_2'],
    [10, 'sub_1'],
  ] as const)
    schedule.push(at, { kind: 'subscription', id });
  assert.deepEqual(schedule.next(25), { at: 10, item: { kind: 'subscription', id: 'sub_1' }, order: 1 });
  assert.equal(schedule.next(25), undefined);
  assert.equal(schedule.next(30)?.item.id, 'sub_3');
  assert.equal(schedule.size, 0);
});

test('items that are deleted before they fall due take no memory', () => {
  const live = new Set<string>();
  const schedule = new Schedule(({ id }) => live.has(id));
  for (let index = 0; index < 100_000; index++) {
    live.add(`sub_${index}`);
    schedule.push(1_000_000 + index, { kind: 'subscription', id: `sub_${index}` });
    live.delete(`sub_${index - 10}`);
  }
  assert.ok(schedule.size <= 1_000, `${schedule.size} entries`);
  assert.equal(schedule.next(2_000_000)?.item.id, 'sub_99990');
});
