import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareConcurrent } from './share-concurrent.ts';

test('concurrent callers share the result of the work, and later ones start it again', async () => {
  const works: PromiseWithResolvers<number>[] = [];
  const work = shareConcurrent(() => {
    const started = Promise.withResolvers<number>();
    works.push(started);
    return started.promise;
  });
  const first = Array.from({ length: 100 }, () => work());
  assert.equal(works.length, 1);
  works[0]?.resolve(1);
  assert.deepEqual(new Set(await Promise.all(first)), new Set([1]));
  const second = work();
  works[1]?.reject(new Error('it failed'));
  await assert.rejects(second, /it failed/);
  const third = work();
  works[2]?.resolve(3);
  assert.equal(await third, 3);
});
