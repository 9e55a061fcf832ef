/** After an API key has ended, nothing is done or shown for the requests that are still in progress with it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { Failure } from '#core/errors.ts';
import type { CrashPoint } from '#engine/idempotency/claim.ts';
import { startBackend } from '../support/backend.ts';
import { createClient } from '../support/client.ts';
import { appendEvents, newEvent } from '../support/event-feed.ts';
import { confirmSecret, createCustomer, createSubscription } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';

interface KeyBody {
  readonly id: string;
  readonly key: string;
}

const backend = await startBackend({ after });
/** What a request waits for at one of its steps. */
let atStep: (step: CrashPoint) => Promise<void> | undefined = () => undefined;
const till = await startTill({
  in: 'process',
  on: backend,
  mustNotLogErrors: true,
  crashPoints: { pass: (step) => atStep(step) },
  streamLimits: { keyCheckMs: 20 },
});
const createKey = (scopes: readonly string[], name = 'shop') =>
  till.post<KeyBody>('/api-keys', { name, scopes });

/** How an API key can end. */
const endings: Readonly<Record<string, (key: KeyBody) => Promise<void>>> = {
  revoked: async ({ id }) => assert.equal((await till.call('DELETE', `/api-keys/${id}`)).status, 204),
  expired: async ({ id }) => {
    await till.sql('update till.api_keys set expires_at = now() where id = $1', [id]);
    await till.services.keys.refresh();
  },
};

/** A request whose body the test sends in two parts. Resolves when the API key has been checked. */
async function openRequest(key: string, path: string, start: string) {
  // The API key is known, so that the guard decides about the request as soon as it arrives.
  await createClient(till, key).get('/api-keys/current');
  const request = httpRequest(`${till.url}/api/v1${path}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json', expect: '100-continue' },
  });
  request.flushHeaders();
  await once(request, 'continue');
  // A request that arrives later has been served.
  await till.get('/plans');
  request.write(start);
  return {
    end: async (rest: string) => {
      request.end(rest);
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      return { status: response.statusCode, body: JSON.parse(await text(response)) };
    },
  };
}

for (const [ending, endKey] of Object.entries(endings)) {
  const type = ending === 'revoked' ? 'plan.archived' : 'refund.failed';
  test(`401: an API key that is ${ending} while the body arrives creates no other API key`, async () => {
    const admin = await createKey(['admin']);
    const open = await openRequest(admin.key, '/api-keys', `{"name":"successor-${ending}",`);
    await endKey(admin);
    const { status, body } = await open.end('"scopes":["admin"]}');
    assert.deepEqual([status, body.code], [401, 'unauthorized']);
    const rows = await till.sql('select from till.api_keys where name = $1', [`successor-${ending}`]);
    assert.equal(rows.length, 0);
  });

  test(`401: a long poll of an API key that is ${ending} ends, and shows no later event`, async () => {
    const reader = await createKey(['read']);
    const client = createClient(till, reader.key);
    const wait = client.call('GET', `/events?types=${type}&waitSeconds=30`);
    // The waiting request has arrived when a later one gets its response.
    await client.get('/events?limit=1');
    await endKey(reader);
    await appendEvents(till.sql, newEvent({ type, data: { email: 'ada@example.com' } }));
    await readProblem(await wait, 401, 'unauthorized');
  });
}

test('401: a request that waits for an idempotency key starts nothing once its API key is revoked', async () => {
  const { id: customerId } = await createCustomer(till);
  const [first, second] = [await createKey(['write'], 'twins'), await createKey(['write'], 'twins')];
  const reached = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const body = { customerId, amount: 1_000, currency: 'eur' };
  const pay = ({ key }: KeyBody) => createClient(till, key).tryPost('/payments', body, 'same-key');
  atStep = (step) => {
    if (step !== 'call.before') return undefined;
    reached.resolve();
    return held.promise;
  };
  const failing = pay(first);
  await reached.promise;
  const waiting = pay(second);
  await createClient(till, second.key).get('/plans');
  await endings['revoked']?.(second);
  // The first request ends without a call to the processor, so the second one could start it.
  held.reject(new Failure('processor_unavailable', 'The processor failed. Retry later.'));
  assert.equal((await failing).status, 503);
  assert.equal((await waiting).status, 401);
  atStep = () => undefined;
  assert.deepEqual((await till.get<{ data: object[] }>(`/payments?customerId=${customerId}`)).data, []);
  const third = await createKey(['write'], 'twins');
  assert.equal((await pay(third)).status, 201);
});

test('401: a cancellation that waits for its turn cancels nothing once its API key is revoked', async () => {
  const { subscription, clientSecret } = await createSubscription(till);
  await confirmSecret(till, clientSecret);
  const shop = await createKey(['write']);
  const client = createClient(till, shop.key);
  await client.get('/api-keys/current');
  const reached = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  atStep = (step) => {
    if (step !== 'call.before') return undefined;
    reached.resolve();
    return goesOn.promise;
  };
  const path = `/subscriptions/${subscription.id}`;
  const changing = till.call('PATCH', path, { metadata: { seat: '7' } });
  await reached.promise;
  atStep = () => undefined;
  const canceling = client.call('DELETE', path);
  await until(async () => (await till.sql('select from till.subscription_queue')).length === 1);
  await endings['revoked']?.(shop);
  goesOn.resolve();
  assert.equal((await changing).status, 200);
  await readProblem(await canceling, 401, 'unauthorized');
  const there = await till.stripe.subscriptions.retrieve(subscription.processorSubscriptionId);
  assert.notEqual(there.status, 'canceled');
});

test('401: a response that is ready after its API key was revoked is not shown', async () => {
  const writer = await createKey(['write']);
  const reached = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const { id: customerId } = await createCustomer(till);
  const body = { customerId, amount: 1_000, currency: 'eur' };
  atStep = (step) => {
    if (step !== 'response.before') return undefined;
    reached.resolve();
    return held.promise;
  };
  const late = createClient(till, writer.key).call('POST', '/payments', body, { 'idempotency-key': 'late' });
  await reached.promise;
  await endings['revoked']?.(writer);
  held.resolve();
  const problem = await readProblem(await late, 401, 'unauthorized');
  assert.doesNotMatch(JSON.stringify(problem), /clientSecret|pi_/);
  atStep = () => undefined;
  // What was begun before the revocation is complete, and another API key of the same name gets it.
  const again = await createClient(till, (await createKey(['write'])).key).tryPost('/payments', body, 'late');
  assert.deepEqual([again.status, again.replayed], [201, true]);
});

test('204: an API key that revokes itself gets its response', async () => {
  const admin = await createKey(['admin']);
  const client = createClient(till, admin.key);
  assert.equal((await client.call('DELETE', `/api-keys/${admin.id}`)).status, 204);
  await readProblem(await client.call('GET', '/plans'), 401, 'unauthorized');
});
