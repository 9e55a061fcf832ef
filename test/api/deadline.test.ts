import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFrame } from '../support/frame.ts';
import { readProblem } from '../support/problem.ts';

test('503: a request that is not finished in time is answered all the same, with a body or without', async (t) => {
  const work = Promise.withResolvers<object>();
  const { call, lines } = await startFrame(
    t,
    async (app) => {
      app.post('/api/v1/things', () => work.promise);
      app.get('/api/v1/things', () => work.promise);
    },
    { requestDeadlineMs: 50 },
  );
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
  for (const init of [post, {}]) {
    const late = await call('/api/v1/things', init);
    assert.equal(late.headers.get('retry-after'), '1');
    await readProblem(late, 503, 'overloaded');
  }
  work.resolve({});
  // What came of it late is dropped, and the next request is served as ever.
  assert.equal((await call('/api/v1/things', post)).status, 200);
  assert.deepEqual(
    lines.filter((line) => line.level === 'error'),
    [],
  );
});
