import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Schedule } from './schedule.ts';

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
