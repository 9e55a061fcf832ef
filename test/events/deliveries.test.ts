import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { createLifetime } from '../support/backend.ts';
import { deliveryCalls, patientRetryDelayMs } from '../support/deliveries.ts';
import { type EventSink, type ReceivedEvent, type Respond, startEventSink } from '../support/event-sink.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';

interface EndpointBody {
  readonly id: string;
  readonly secret: string;
  readonly enabled: boolean;
  readonly disabledReason: string | null;
  readonly failingSince: string | null;
}

const path = '/event-endpoints';
const till = await startTill({
  in: 'process',
  for: { after },
  mustNotLogErrors: true,
  delivers: true,
  // No attempt of these tests ends, or is repeated, because of the time.
  events: { allowPrivate: true, attemptTimeoutMs: 600_000, retryDelayMs: patientRetryDelayMs },
});
const { call, sql } = till;
const { dispatcher } = till.services;
const { append, deliveriesOf, recorded, retryNow } = deliveryCalls(till);

let life = createLifetime();
afterEach(async () => {
  await sql('delete from till.event_endpoints');
  await sql('delete from till.event_retries');
  await dispatcher.endpointsChanged();
  await life.end();
  life = createLifetime();
});

async function connect(
  respond?: Respond,
  body: object = {},
): Promise<EndpointBody & { readonly sink: EventSink }> {
  const sink = await startEventSink(life, respond);
  const endpoint = await till.post<EndpointBody>(path, { url: `${sink.url}/hook?a=b`, ...body });
  return { ...endpoint, sink };
}

const idsOf = (received: readonly ReceivedEvent[]) => received.map(({ body }) => body.id);

function verify({ text, headers }: ReceivedEvent, secret: string): unknown {
  return new Webhook(secret).verify(text, headers as Record<string, string>);
}

test('an event arrives as the feed shows it, signed, and its delivery is listed', async () => {
  const endpoint = await connect((response) => response.writeHead(200).end('thanks\0'));
  const customerId = randomUUID();
  const [id] = await append({
    type: 'customer.updated',
    objectId: customerId,
    customerId,
    data: { name: 'Ada ✓' },
  });
  await endpoint.sink.arrived(1);
  const [event] = endpoint.sink.received;
  assert(event !== undefined);
  assert.deepEqual(verify(event, endpoint.secret), event.body);
  const { createdAt, ...rest } = event.body as unknown as Readonly<Record<string, unknown>>;
  assert.deepEqual(rest, {
    ...{ id, type: 'customer.updated', objectType: 'customer', objectId: customerId, customerId },
    ...{ data: { id: customerId, name: 'Ada ✓' }, previous: {} },
    cause: { kind: 'api', keyName: null, person: null, requestId: null, processorEventId: null },
  });
  assert.equal(new Date(String(createdAt)).toISOString(), createdAt);
  assert.equal(event.path, '/hook?a=b');
  assert.equal(event.headers['webhook-id'], id);
  assert.equal(event.headers['content-type'], 'application/json');
  await recorded(endpoint, 'succeeded', 1);
  const [delivery] = await deliveriesOf(endpoint);
  assert(delivery !== undefined);
  const { id: deliveryId, durationMs, createdAt: attemptedAt, ...shown } = delivery;
  assert.deepEqual(shown, {
    ...{ endpointId: endpoint.id, eventId: id, eventType: 'customer.updated', objectType: 'customer' },
    ...{ objectId: customerId, customerId, nextAttemptAt: null },
    ...{ attempt: 1, status: 'succeeded', responseStatus: 200, responseBody: 'thanks\ufffd' },
  });
  assert.ok(deliveryId.length === 36 && Number(durationMs) >= 0 && Date.parse(attemptedAt) > 0);
  assert.ok(!JSON.stringify(till.lines).includes('a=b'));
});

test('an endpoint gets the types that it wants, from its creation on', async () => {
  await append({ type: 'plan.created' });
  const endpoint = await connect(undefined, { types: ['plan.created', 'plan.archived'] });
  const ids = await append({ type: 'plan.created' }, { type: 'plan.updated' }, { type: 'plan.archived' });
  await endpoint.sink.arrived(2);
  assert.deepEqual(idsOf(endpoint.sink.received), [ids[0], ids[2]]);
});

test("a failing event blocks its own object's later events, and nothing else, until it succeeds", async () => {
  const [stuck, other] = [randomUUID(), randomUUID()];
  let isBroken = true;
  const endpoint = await connect((response, { body }) => {
    response.writeHead(isBroken && body.objectId === stuck ? 500 : 204).end(isBroken ? 'broken' : '');
  });
  const healthy = await connect();
  const mixed = await append(
    ...[{ objectId: stuck }, { objectId: other }, { objectId: stuck }, { objectId: other }],
    ...[{ objectId: stuck }, { objectId: randomUUID() }],
  );
  await endpoint.sink.arrived(4);
  await healthy.sink.arrived(6);
  await recorded(endpoint, 'succeeded', 3);
  await recorded(endpoint, 'pending', 1);
  const later = await append({ objectId: stuck }, { objectId: other });
  await endpoint.sink.arrived(5);
  await retryNow();
  await endpoint.sink.arrived(6);
  const tried = endpoint.sink.received.filter(({ body }) => body.objectId === stuck);
  assert.deepEqual(idsOf(tried), [mixed[0], mixed[0]]);
  await until(async () => (await deliveriesOf(endpoint)).some(({ attempt }) => attempt === 2));
  const [pending] = (await deliveriesOf(endpoint)).filter(({ status }) => status === 'pending');
  assert.deepEqual([pending?.eventId, pending?.responseStatus], [mixed[0], 500]);
  assert.equal(pending?.responseBody, 'broken');
  assert.ok(Date.parse(String(pending?.nextAttemptAt)) > Date.now());

  isBroken = false;
  await retryNow();
  await endpoint.sink.arrived(10);
  const all = endpoint.sink.received.filter(({ body }) => body.objectId === stuck);
  assert.deepEqual(idsOf(all).slice(2), [mixed[0], mixed[2], mixed[4], later[0]]);
  const others = endpoint.sink.received.filter(({ body }) => body.objectId === other);
  assert.deepEqual(idsOf(others), [mixed[1], mixed[3], later[1]]);
  await recorded(endpoint, 'succeeded', 8);
  assert.deepEqual(await sql('select 1 from till.event_retries'), []);
  // Each object's events were sent in order, each once.
  assert.deepEqual(new Set(idsOf(healthy.sink.received)), new Set([...mixed, ...later]));
  assert.equal(healthy.sink.received.length, 8);
});

test('an endpoint that does not respond delays no other, and of its own events only so many are sent at a time', async () => {
  const dead = await connect(() => {});
  const healthy = await connect();
  const count = 150;
  await append(...Array.from({ length: count }, () => ({})));
  await healthy.sink.arrived(count);
  await recorded(healthy, 'succeeded', 100);
  await dead.sink.arrived(10);
  assert.equal(dead.sink.received.length, 10);
  assert.deepEqual(
    (await deliveriesOf(dead)).filter(({ status }) => status === 'succeeded'),
    [],
  );
});

test('after three days an event is marked failed, and the next one of its object goes on', async () => {
  const stuck = randomUUID();
  let isBroken = true;
  const endpoint = await connect((response, { body }) => {
    response.writeHead(isBroken && body.objectId === stuck ? 500 : 204).end();
  });
  const [first, second] = await append({ objectId: stuck }, { objectId: stuck });
  await recorded(endpoint, 'pending', 1);
  // Another object's event succeeds, so the endpoint itself is not dead.
  await append({});
  await recorded(endpoint, 'succeeded', 1);
  isBroken = true;
  await retryNow(`, give_up_at = now() - interval '1 second'`);
  await recorded(endpoint, 'failed', 1);
  await endpoint.sink.arrived(4);
  isBroken = false;
  await recorded(endpoint, 'pending', 1);
  await retryNow();
  await recorded(endpoint, 'succeeded', 2);
  const failed = (await deliveriesOf(endpoint)).find(({ status }) => status === 'failed');
  assert.deepEqual([failed?.eventId, failed?.attempt, failed?.nextAttemptAt], [first, 2, null]);
  assert.equal(endpoint.sink.received.at(-1)?.body.id, second);
  assert.equal(await till.count('event_deliveries_total', { outcome: 'failed' }), 1);
});

test('an endpoint without a success for three days is turned off, and gets every event once it is on again', async () => {
  let isBroken = true;
  const endpoint = await connect((response) => response.writeHead(isBroken ? 500 : 204).end());
  const objectId = randomUUID();
  const before = await append({ objectId }, { objectId }, {});
  await recorded(endpoint, 'pending', 2);
  const read = () => till.get<EndpointBody>(`${path}/${endpoint.id}`);
  await until(async () => (await read()).failingSince !== null);
  await sql(`update till.event_endpoints set failing_since = failing_since - interval '3 days'`);
  await retryNow(`, give_up_at = now() - interval '1 second'`);
  await until(async () => !(await read()).enabled);
  assert.equal((await read()).disabledReason, 'failing');
  assert.ok(till.lines.some(({ msg }) => msg.startsWith('event endpoint turned off')));
  // It releases the endpoint once the attempts in progress have ended.
  await until(async () => (await sql('select from till.event_endpoints where owner is null')).length === 1);
  const missed = await append({ objectId }, {});
  isBroken = false;
  const attempts = endpoint.sink.received.length;
  const on = await call('PATCH', `${path}/${endpoint.id}`, { enabled: true });
  assert.equal(on.status, 200);
  await endpoint.sink.arrived(attempts + 5);
  await recorded(endpoint, 'succeeded', 5);
  const got = endpoint.sink.received.slice(attempts);
  assert.deepEqual(new Set(idsOf(got)), new Set([...before, ...missed]));
  assert.deepEqual(idsOf(got.filter(({ body }) => body.objectId === objectId)), [
    ...before.slice(0, 2),
    missed[0],
  ]);
  assert.equal((await read()).failingSince, null);
});

test('each secret verifies events for a day after it was replaced, whatever is rotated in that day', async () => {
  const endpoint = await connect();
  const secrets = [endpoint.secret];
  const rotate = async () =>
    secrets.push((await till.post<EndpointBody>(`${path}/${endpoint.id}/rotate-secret`)).secret);
  /** The secrets that verify the next event, oldest first. */
  const validNow = async (count: number) => {
    await append({});
    await endpoint.sink.arrived(count);
    const event = endpoint.sink.received.at(-1);
    assert(event !== undefined);
    return secrets.filter((secret) => isSignedWith(event, secret));
  };
  await rotate();
  await letTimePass('12 hours');
  await rotate();
  assert.deepEqual(await validNow(1), secrets);
  await letTimePass('13 hours');
  assert.deepEqual(await validNow(2), secrets.slice(1), 'the first one was replaced 25 hours ago');
  await rotate();
  assert.deepEqual(await validNow(3), secrets.slice(1));
  await letTimePass('24 hours');
  assert.deepEqual(await validNow(4), secrets.slice(3));
});

/** Moves the ends of all replaced secrets into the past, and waits until the lanes know. */
async function letTimePass(interval: string): Promise<void> {
  await sql(
    `update till.event_endpoints set replaced_secrets = (select jsonb_agg(
       jsonb_set(one, '{validUntil}', to_jsonb((one ->> 'validUntil')::timestamptz - $1::interval)) order by place)
       from jsonb_array_elements(replaced_secrets) with ordinality as replaced (one, place))`,
    [interval],
  );
  await dispatcher.endpointsChanged();
}

function isSignedWith(event: ReceivedEvent, secret: string): boolean {
  try {
    return verify(event, secret) !== undefined;
  } catch {
    return false;
  }
}

test('a changed URL and changed types apply to the next event', async () => {
  const endpoint = await connect();
  const moved = await startEventSink(life);
  const change = { url: moved.url, types: ['plan.archived'] };
  assert.equal((await call('PATCH', `${path}/${endpoint.id}`, change)).status, 200);
  const [, archived] = await append({ type: 'plan.created' }, { type: 'plan.archived' });
  await moved.arrived(1);
  await recorded(endpoint, 'succeeded', 1);
  assert.deepEqual(idsOf(moved.received), [archived]);
  assert.deepEqual(endpoint.sink.received, []);
});

test('a waiting event of a type that the endpoint no longer wants is not sent again, and holds back nothing', async () => {
  const objectId = randomUUID();
  const endpoint = await connect((response, { body }) => {
    response.writeHead(body.type === 'payment.updated' ? 400 : 204).end();
  });
  const about = { objectType: 'payment', objectId } as const;
  const before = await append(
    { type: 'payment.updated', ...about },
    { type: 'payment.updated', ...about },
    { type: 'payment.succeeded', ...about },
  );
  await endpoint.sink.arrived(1);
  await recorded(endpoint, 'pending', 1);
  await sql(`update till.event_retries set next_attempt_at = now() + interval '4 hours'`);
  const change = { types: ['payment.succeeded'] };
  assert.equal((await call('PATCH', `${path}/${endpoint.id}`, change)).status, 200);
  const later = await append({ type: 'payment.succeeded', ...about });
  await endpoint.sink.arrived(3);
  await recorded(endpoint, 'succeeded', 2);
  assert.deepEqual(idsOf(endpoint.sink.received), [before[0], before[2], later[0]]);
  assert.equal((await deliveriesOf(endpoint)).length, 2);
  assert.deepEqual(await sql('select 1 from till.event_retries'), []);
});

test('an http endpoint gets nothing once private networks are no longer allowed, and its delivery says why', async (t) => {
  const strict = await startTill({
    ...{ in: 'process', for: t, mustNotLogErrors: true, delivers: true },
    events: { retryDelayMs: patientRetryDelayMs },
  });
  const endpoint = { id: randomUUID() };
  const sink = await startEventSink(life);
  await strict.sql(
    `insert into till.event_endpoints (id, url, secret, position, created_at, updated_at)
     values ($1, $2, 'plain:whsec_c2VlZA==', till.event_horizon(), now(), now())`,
    [endpoint.id, sink.url],
  );
  await strict.services.dispatcher.endpointsChanged();
  const calls = deliveryCalls(strict);
  await calls.append({});
  await calls.recorded(endpoint, 'pending', 1);
  const [delivery] = await calls.deliveriesOf(endpoint);
  assert.match(String(delivery?.responseBody), /^Not sent: the URL must begin with https/);
  assert.equal(delivery?.responseStatus, null);
  assert.deepEqual(sink.received, []);
});

test('a replay sends the events after a place again, under the same ids', async () => {
  const endpoint = await connect();
  const objectId = randomUUID();
  const ids = await append({ objectId }, { objectId }, { objectId }, { objectId });
  await endpoint.sink.arrived(4);
  await recorded(endpoint, 'succeeded', 4);
  await till.post(`${path}/${endpoint.id}/replay`, { after: ids[1] });
  await endpoint.sink.arrived(6);
  await recorded(endpoint, 'succeeded', 6);
  assert.deepEqual(idsOf(endpoint.sink.received), [...ids, ids[2], ids[3]]);
});

test('a replay includes what waits, and an endpoint that is off stays where it is', async () => {
  let isBroken = true;
  const endpoint = await connect((response) => response.writeHead(isBroken ? 503 : 204).end());
  const objectId = randomUUID();
  const ids = await append({ objectId }, { objectId });
  await recorded(endpoint, 'pending', 1);
  await call('PATCH', `${path}/${endpoint.id}`, { enabled: false });
  isBroken = false;
  await till.post(`${path}/${endpoint.id}/replay`, { after: ids[1] });
  assert.equal((await deliveriesOf(endpoint)).length, 1, 'nothing was skipped');
  await till.post(`${path}/${endpoint.id}/replay`, { after: null });
  assert.deepEqual(await deliveriesOf(endpoint), []);
  await call('PATCH', `${path}/${endpoint.id}`, { enabled: true });
  const [kept] = await sql<{ count: number }>('select count(*) as count from till.events');
  await endpoint.sink.arrived(1 + Number(kept?.count));
  const again = idsOf(endpoint.sink.received.slice(1)).filter((id) => ids.includes(id));
  assert.deepEqual(again, ids);
});

test('the age of the oldest event that was not delivered is measured', async () => {
  const endpoint = await connect((response) => response.writeHead(500).end());
  await append({});
  await recorded(endpoint, 'pending', 1);
  await sql(`update till.event_retries set event_created_at = event_created_at - interval '1 hour'`);
  await till.services.measure();
  assert.ok((await till.count('event_delivery_oldest_seconds')) >= 3_600);
  await call('DELETE', `${path}/${endpoint.id}`);
  await till.services.measure();
  assert.equal(await till.count('event_delivery_oldest_seconds'), 0);
});
