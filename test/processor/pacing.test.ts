import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, type TestContext, test } from 'node:test';
import { Failure } from '#core/errors.ts';
import { type Cause, causeOfKind, runWithCause } from '#core/platform/cause.ts';
import { failureOf, startAdapter } from './adapter.ts';
import { respond, type Script, startScriptedServer } from './scripted-server.ts';
import { customer, localId, mark, paymentIntent, wireError } from './wire-objects.ts';

const newCustomer = {
  email: 'a@example.com',
  name: null,
  phone: null,
  id: localId,
  mark,
  idempotencyKey: 'key-1',
};

function limited(reason: string | undefined, headers: Record<string, string> = {}): Script {
  const named = reason === undefined ? headers : { 'stripe-rate-limited-reason': reason, ...headers };
  return (response) => respond(response, 429, wireError({ code: 'rate_limit' }), named);
}

/** A processor that refuses what is above its limit in any second. A refused request does not count. */
async function startLimited(t: TestContext, perSecond: number, reason = 'global-rate') {
  let accepted: number[] = [];
  const all: number[] = [];
  const server = await startScriptedServer(t, (response, seen, count) => {
    const nowMs = performance.now();
    accepted = accepted.filter((atMs) => nowMs - atMs < 1_000);
    if (accepted.length >= perSecond) return limited(reason)(response, seen, count);
    accepted.push(nowMs);
    all.push(nowMs);
    respond(response, 200, customer);
  });
  return { ...server, accepted: all };
}

const causeOf = (keyName: string): Cause => ({ ...causeOfKind('api'), keyName });

describe('with a limit of calls a second', () => {
  test('a burst succeeds, almost without a refused call', async (t) => {
    const server = await startLimited(t, 25);
    const { processor, rateLimited } = startAdapter(t, server.url, { requestsPerSecond: 25 });
    await Promise.all(Array.from({ length: 40 }, () => processor.customers.create(newCustomer)));
    assert.equal(server.accepted.length, 40);
    // On a busy machine, calls reach the processor later than they were sent.
    assert.ok((await rateLimited()) <= 4, `${await rateLimited()} refused calls`);
  });

  test('a call that could not begin in time is refused at once, and nothing is sent', async (t) => {
    const server = await startScriptedServer(t, (response) => respond(response, 200, customer));
    const { processor, outcomes } = startAdapter(t, server.url, {
      requestsPerSecond: 1,
      limits: { deadlineMs: 1_000 },
    });
    // Of the deadline, 0.6 s may be spent waiting. The second call waits, and the third one would begin after it.
    const [, second, third] = await Promise.all(
      Array.from({ length: 3 }, (_, index) =>
        runWithCause(causeOf('shop'), () => {
          const created = processor.customers.create(newCustomer);
          return index === 0 ? created : failureOf(created);
        }),
      ),
    );
    for (const failure of [second, third]) {
      assert(failure instanceof Failure);
      assert.deepEqual([failure.code, failure.extras.effect], ['processor_unavailable', 'none']);
    }
    assert(third instanceof Failure);
    assert.equal(third.extras.retryAfterSeconds, 2);
    assert.equal(server.seen.length, 1);
    assert.deepEqual(await outcomes(), { 'customers.create ok': 1, 'customers.create overloaded': 2 });
  });

  test('calls of another application, and of background work, pass a flood of one application', async (t) => {
    const server = await startScriptedServer(t, (response) => respond(response, 200, customer));
    const { processor } = startAdapter(t, server.url, { requestsPerSecond: 50 });
    const order: string[] = [];
    const create = (name: string) => processor.customers.create(newCustomer).then(() => order.push(name));
    const calls = [
      ...runWithCause(causeOf('flood'), () => Array.from({ length: 40 }, () => create('flood'))),
      runWithCause(causeOf('quiet'), () => create('quiet')),
      create('background'),
    ];
    await Promise.all(calls);
    assert.ok(order.indexOf('quiet') < 15, String(order));
    assert.ok(order.indexOf('background') < 30, String(order));
  });

  test('an attempt that was lost and cannot be repeated in time leaves its effect unknown', async (t) => {
    const server = await startScriptedServer(t, (response) => response.destroy());
    const { processor } = startAdapter(t, server.url, {
      requestsPerSecond: 1,
      limits: { deadlineMs: 500 },
    });
    const failure = await failureOf(processor.customers.create(newCustomer));
    assert.deepEqual([failure.code, failure.extras.effect], ['processor_unavailable', 'unknown']);
    assert.equal(server.seen.length, 1);
  });
});

describe('a processor without a stated limit', () => {
  test('is learned from its refusals: the burst succeeds, and the next one almost without a refused call', async (t) => {
    const server = await startLimited(t, 25);
    const { processor, rateLimited, outcomes } = startAdapter(t, server.url);
    const burst = () =>
      Promise.all(Array.from({ length: 35 }, () => processor.customers.create(newCustomer)));
    await burst();
    const wasted = await rateLimited();
    assert.ok(wasted >= 10 && wasted <= 14, `${wasted} refused calls`);
    await burst();
    assert.ok((await rateLimited()) - wasted <= 4, `${await rateLimited()} refused calls`);
    assert.deepEqual(await outcomes(), { 'customers.create ok': 70 });
  });

  test('waits as long as Retry-After says, with calls of the same operation only', async (t) => {
    const times: [string, number][] = [];
    const server = await startScriptedServer(t, (response, seen, count) => {
      times.push([seen.method, performance.now()]);
      if (count === 0) return limited('endpoint-rate', { 'retry-after': '1' })(response, seen, count);
      respond(response, 200, seen.method === 'GET' ? paymentIntent : customer);
    });
    const { processor } = startAdapter(t, server.url);
    const created = processor.customers.create(newCustomer);
    while (times.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await processor.payments.read('pi_1');
    await created;
    const [first, other, again] = times;
    assert(first && other && again);
    assert.deepEqual([other[0], again[0]], ['GET', 'POST']);
    assert.ok(again[1] - first[1] >= 999, `${again[1] - first[1]} ms`);
  });

  test('learns how many calls may be in progress', async (t) => {
    const held: ServerResponse[] = [];
    const server = await startScriptedServer(t, (response, seen, count) => {
      if (count > 30) return respond(response, 200, customer);
      if (held.length < 4) held.push(response);
      else limited('global-concurrency')(response, seen, count);
      if (count < 29) return;
      for (const one of held.splice(0)) respond(one, 200, customer);
    });
    const { processor, outcomes, rateLimited } = startAdapter(t, server.url);
    await Promise.all(Array.from({ length: 30 }, () => processor.customers.create(newCustomer)));
    assert.deepEqual(await outcomes(), { 'customers.create ok': 30 });
    assert.equal(await rateLimited(), 26);
  });

  for (const [reason, attempts] of [
    [undefined, 3],
    ['a-new-reason', 3],
    ['resource-specific', 1],
  ] as const)
    test(`is not slowed down by a refusal of the kind ${reason}: attempts ${attempts}`, async (t) => {
      const server = await startScriptedServer(t, limited(reason));
      const { processor } = startAdapter(t, server.url);
      const failure = await failureOf(processor.customers.create(newCustomer));
      assert.deepEqual([failure.code, failure.extras.effect], ['processor_unavailable', 'none']);
      assert.equal(server.seen.length, attempts);
    });

  test('that refuses every call is asked a limited number of times', async (t) => {
    const server = await startScriptedServer(t, limited('endpoint-rate', { 'retry-after': '0.01' }));
    const { processor, rateLimited } = startAdapter(t, server.url);
    const failure = await failureOf(processor.customers.create(newCustomer));
    assert.deepEqual([failure.code, failure.extras.effect], ['processor_unavailable', 'none']);
    assert.equal(server.seen.length, 6);
    assert.equal(await rateLimited(), 6);
  });
});
