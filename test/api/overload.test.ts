import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { OverloadLimits } from '../../src/http/load/overload.ts';
import { type Frame, startFrame } from '../support/frame.ts';
import { readProblem } from '../support/problem.ts';
import { until } from '../support/until.ts';

/** Not met unless a test means to meet one of them. */
const far = Number.POSITIVE_INFINITY;
const never = { working: far, ageMs: far };
const webhook = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };

interface HeldFrame extends Frame {
  /** Sends a request that stays in progress until `release`. Resolves once it is in progress. */
  readonly hold: (signal?: AbortSignal) => Promise<{ readonly response: Promise<Response> }>;
  readonly release: () => void;
}

async function startHeldFrame(t: TestContext, overloadLimits: OverloadLimits): Promise<HeldFrame> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  t.after(() => release());
  let onArrival = () => {};
  const routes = async (app: FastifyInstance) => {
    app.get('/api/v1/held', async () => {
      onArrival();
      await released;
      return {};
    });
    app.get('/api/v1/things', async () => ({}));
    app.post('/webhooks/processor', async () => ({ received: true }));
  };
  const frame = await startFrame(t, routes, { overloadLimits });
  const hold = async (signal?: AbortSignal) => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    onArrival = resolve;
    const response = frame.call('/api/v1/held', signal === undefined ? {} : { signal });
    await arrived;
    return { response };
  };
  return { ...frame, hold, release };
}

test('with too many requests in progress, webhooks are shed first, the API later, health and metrics never', async (t) => {
  const { call, url, hold, release, lines } = await startHeldFrame(t, {
    webhooks: { ...never, working: 1 },
    others: { ...never, working: 2 },
  });
  const statusOf = async (response: Promise<Response>) => (await response).status;
  assert.equal(await statusOf(call('/webhooks/processor', webhook)), 200);

  const first = await hold();
  const shedWebhook = await call('/webhooks/processor', webhook);
  assert.equal(shedWebhook.headers.get('retry-after'), '1');
  await readProblem(shedWebhook, 503, 'overloaded');
  assert.equal(await statusOf(call('/api/v1/things')), 200);

  const second = await hold();
  // Before any work is done for it: not even the API key is checked.
  const shedRead = await fetch(`${url}/api/v1/things`);
  assert.equal(shedRead.headers.get('retry-after'), '1');
  await readProblem(shedRead, 503, 'overloaded');
  for (const path of ['/health', '/health/live', '/health/ready', '/metrics'])
    assert.equal(await statusOf(call(path)), 200, path);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  assert.match(metrics, /^http_requests_shed_total\{kind="webhooks"\} 1$/m);
  assert.match(metrics, /^http_requests_shed_total\{kind="others"\} 1$/m);

  release();
  assert.deepEqual(await Promise.all([statusOf(first.response), statusOf(second.response)]), [200, 200]);
  assert.equal(await statusOf(call('/webhooks/processor', webhook)), 200);
  assert.ok(!lines.some(({ status }) => status === 503), 'a shed request is counted, not logged');
  assert.ok(lines.some(({ msg, webhooks }) => msg === 'requests shed due to overload' && webhooks === 1));
});

test('a caller that goes away is no longer counted', async (t) => {
  const { call, hold } = await startHeldFrame(t, {
    webhooks: { ...never, working: 1 },
    others: never,
  });
  const leaving = new AbortController();
  const { response } = await hold(leaving.signal);
  leaving.abort();
  await assert.rejects(response);
  // The server learns of it a moment later; the runner's patience is the limit.
  await until(async () => (await call('/webhooks/processor', webhook)).status === 200);
});

test('many requests that have waited too long are an overload; a few are not', async (t) => {
  const ageMs = 100;
  const { call, hold } = await startHeldFrame(t, { webhooks: { ...never, ageMs }, others: never });
  const statusOf = async () => (await call('/webhooks/processor', webhook)).status;
  for (let held = 0; held < 99; held += 1) await hold();
  await setTimeout(ageMs);
  assert.equal(await statusOf(), 200);
  await hold();
  // The newest has not waited at all; the others have, and longer with every check.
  while ((await statusOf()) !== 503) await setTimeout(1);
});
