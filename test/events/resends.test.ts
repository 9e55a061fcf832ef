import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { deliveryStatement } from '#engine/events/deliveries/delivery-list-store.ts';
import { createLifetime, startBackend } from '../support/backend.ts';
import { type DeliveryBody, deliveryCalls, patientRetryDelayMs } from '../support/deliveries.ts';
import { type ReceivedEvent, type Respond, startEventSink } from '../support/event-sink.ts';
import { idOfPlace } from '../support/stored-events.ts';
import { openPool } from '../support/test-database.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';

interface DeliveryPage {
  readonly data: readonly DeliveryBody[];
  readonly nextCursor: string | null;
}

const settings = {
  in: 'process',
  delivers: true,
  mustNotLogErrors: true,
  events: { allowPrivate: true, retryDelayMs: patientRetryDelayMs },
} as const;
const life = createLifetime();
after(() => life.end());
const backend = await startBackend({ after });
const till = await startTill({ ...settings, on: backend });
const { call, sql } = till;
const { append, deliveriesOf, recorded, retryNow } = deliveryCalls(till);

async function connect(respond?: Respond, body: object = {}) {
  const sink = await startEventSink(life, respond);
  const endpoint = await till.post<{ readonly id: string }>('/event-endpoints', { url: sink.url, ...body });
  return { ...endpoint, sink };
}

const idsOf = (received: readonly ReceivedEvent[]) => received.map(({ body }) => body.id);
const resend = (id: string | undefined, body?: object) =>
  till.post<{ readonly deliveries: readonly DeliveryBody[] }>(`/events/${id}/resend`, body);
const remove = ({ id }: { readonly id: string }) => call('DELETE', `/event-endpoints/${id}`);
const codeOf = async (answer: Promise<Response>) => {
  const response = await answer;
  const { code } = (await response.json()) as { readonly code?: string };
  return [response.status, code];
};

test('one event is read by its id, with its deliveries to every endpoint, and is sent again unchanged', async () => {
  const [first, second] = [await connect(), await connect(undefined, { types: ['plan.updated'] })];
  const off = await connect();
  await call('PATCH', `/event-endpoints/${off.id}`, { enabled: false });
  const customerId = randomUUID();
  const [id, other] = await append(
    { type: 'customer.updated', objectId: customerId, customerId, data: { name: 'Ada ✓' } },
    { type: 'plan.updated' },
  );
  await recorded(first, 'succeeded', 2);
  await recorded(second, 'succeeded', 1);
  const { data } = await till.get<{ readonly data: readonly { readonly id: string }[] }>('/events');
  assert.deepEqual(
    await till.get(`/events/${id}`),
    data.find((event) => event.id === id),
  );

  const about = { eventType: 'customer.updated', objectType: 'customer', objectId: customerId, customerId };
  const of = await till.get<DeliveryPage>(`/events/${id}/deliveries`);
  assert.deepEqual(
    of.data.map(({ endpointId, eventId, eventType, objectType, objectId, customerId: owner, status }) => ({
      ...{ endpointId, eventId, eventType, objectType, objectId, customerId: owner, status },
    })),
    [{ endpointId: first.id, eventId: id, ...about, status: 'succeeded' }],
  );
  const both = await till.get<DeliveryPage>(`/events/${other}/deliveries?limit=1`);
  const rest = await till.get<DeliveryPage>(`/events/${other}/deliveries?limit=1&cursor=${both.nextCursor}`);
  assert.deepEqual(
    new Set([...both.data, ...rest.data].map(({ endpointId }) => endpointId)),
    new Set([first.id, second.id]),
  );
  assert.equal(rest.nextCursor, null);

  // To all endpoints that are on and want the type.
  const { deliveries } = await resend(id);
  assert.deepEqual(
    deliveries.map(({ endpointId, status, attempt, eventId, objectId }) => ({
      ...{ endpointId, status, attempt, eventId, objectId },
    })),
    [{ endpointId: first.id, status: 'pending', attempt: 0, eventId: id, objectId: customerId }],
  );
  await first.sink.arrived(3);
  const [sent, , again] = first.sink.received;
  assert.equal(again?.text, sent?.text);
  assert.equal(again?.headers['webhook-id'], id);
  await recorded(first, 'succeeded', 3);
  assert.equal((await till.get<DeliveryPage>(`/events/${id}/deliveries`)).data.length, 2);
  // To one endpoint, even if it does not want the type.
  const [asked] = (await resend(id, { endpointId: second.id })).deliveries;
  assert.equal(asked?.endpointId, second.id);
  await second.sink.arrived(2);
  assert.equal(second.sink.received[1]?.text, sent?.text);
  await recorded(second, 'succeeded', 2);
  assert.deepEqual(await sql('select from till.event_resends'), []);

  assert.deepEqual(await codeOf(call('POST', `/events/${id}/resend`, { endpointId: off.id })), [
    409,
    'endpoint_disabled',
  ]);
  assert.deepEqual(await codeOf(call('POST', `/event-endpoints/${off.id}/resend-failed`)), [
    409,
    'endpoint_disabled',
  ]);
  assert.deepEqual(await codeOf(call('POST', `/events/${id}/resend`, { endpointId: randomUUID() })), [
    404,
    'not_found',
  ]);
  await Promise.all([first, second, off].map(remove));
  assert.deepEqual((await resend(id)).deliveries, []);
});

test('an id that is no event is a 404, and an event that is no longer kept is a 410', async () => {
  const lost = await idOfPlace(sql, 999_999_999, Date.now());
  const old = await idOfPlace(sql, 1, Date.parse('2020-01-01T00:00:00Z'));
  const forged = `${old.slice(0, -2)}${old.endsWith('AA') ? 'BB' : 'AA'}`;
  for (const [id, status, code] of [
    ['evt_1', 404, 'not_found'],
    [randomUUID(), 404, 'not_found'],
    [forged, 404, 'not_found'],
    [lost, 404, 'not_found'],
    [old, 410, 'event_expired'],
  ] as const) {
    assert.deepEqual(await codeOf(call('GET', `/events/${id}`)), [status, code]);
    assert.deepEqual(await codeOf(call('GET', `/events/${id}/deliveries`)), [status, code]);
    assert.deepEqual(await codeOf(call('POST', `/events/${id}/resend`)), [status, code]);
  }
});

test('a resend overtakes a blocked object, unblocks nothing, and an event that waits is attempted at once', async () => {
  const objectId = randomUUID();
  const refused = new Set<string | undefined>();
  const endpoint = await connect((response, { body }) => {
    response.writeHead(refused.has(body.id) ? 500 : 204).end();
  });
  await call('PATCH', `/event-endpoints/${endpoint.id}`, { enabled: false });
  const [head, behind, last] = await append({ objectId }, { objectId }, { objectId });
  refused.add(head);
  await call('PATCH', `/event-endpoints/${endpoint.id}`, { enabled: true });
  await recorded(endpoint, 'pending', 1);
  // The event waits behind the head without a row of its own.
  await resend(behind);
  await recorded(endpoint, 'succeeded', 1);
  assert.deepEqual(idsOf(endpoint.sink.received), [head, behind]);
  // The head still waits. Its next attempt is made now, and is the same delivery.
  const [waiting] = (await deliveriesOf(endpoint)).filter(({ status }) => status === 'pending');
  const { deliveries } = await resend(head);
  assert.deepEqual(
    deliveries.map(({ id }) => id),
    [waiting?.id],
  );
  await until(async () => (await deliveriesOf(endpoint)).some(({ attempt }) => attempt === 2));
  assert.deepEqual(idsOf(endpoint.sink.received), [head, behind, head]);
  refused.clear();
  await retryNow();
  await recorded(endpoint, 'succeeded', 4);
  assert.deepEqual(idsOf(endpoint.sink.received), [head, behind, head, head, behind, last]);
  await remove(endpoint);
});

test('an event that waits although its type is no longer wanted is resent to the endpoint that a request names', async () => {
  const objectId = randomUUID();
  const endpoint = await connect((response) => response.writeHead(500).end());
  const [id] = await append({ type: 'plan.updated', objectId });
  await recorded(endpoint, 'pending', 1);
  // As an earlier release left it: not due for hours.
  await sql(`update till.event_retries set next_attempt_at = now() + interval '4 hours'`);
  await sql(`update till.event_endpoints set types = '{plan.created}', updated_at = clock_timestamp()`);
  await till.services.dispatcher.endpointsChanged();
  await resend(id, { endpointId: endpoint.id });
  await endpoint.sink.arrived(2);
  assert.deepEqual(idsOf(endpoint.sink.received), [id, id]);
  await until(async () => (await sql('select 1 from till.event_retries')).length === 0);
  await remove(endpoint);
});

test('two resends at once, from two processes, are one delivery, which is retried until it succeeds', async () => {
  const other = await startTill({ ...settings, on: backend });
  let isBroken = false;
  const endpoint = await connect((response) => response.writeHead(isBroken ? 500 : 204).end());
  const [id] = await append({});
  await recorded(endpoint, 'succeeded', 1);
  isBroken = true;
  const path = `/events/${id}/resend`;
  const both = await Promise.all([resend(id), other.post<{ deliveries: readonly DeliveryBody[] }>(path)]);
  const ids = new Set(both.flatMap(({ deliveries }) => deliveries.map((delivery) => delivery.id)));
  assert.equal(ids.size, 1);
  await recorded(endpoint, 'pending', 1);
  const attempts = endpoint.sink.received.length;
  isBroken = false;
  await retryNow();
  await recorded(endpoint, 'succeeded', 2);
  assert.equal(endpoint.sink.received.length, attempts + 1);
  await other.stop();
  await remove(endpoint);
});

test('all failed deliveries of an endpoint are sent again, once each, in small transactions, and none of a deleted endpoint', async () => {
  const endpoint = await connect();
  const count = 1_100;
  await call('PATCH', `/event-endpoints/${endpoint.id}`, { enabled: false });
  const ids = await append(...Array.from({ length: count }, () => ({})));
  // As if each had failed: two of them twice. The last one is no longer kept.
  await sql(
    `insert into till.event_deliveries (endpoint_id, id, position, event_created_at, attempt, succeeded, created_at)
     select $1::uuid, gen_random_uuid(), position, created_at, 9, false, now() from (
       select position, created_at from till.events order by position desc limit $2) as failed
     union all select $1::uuid, gen_random_uuid(), position, created_at, 9, false, now() from (
       select position, created_at from till.events order by position desc limit 2) as twice
     union all values ($1::uuid, gen_random_uuid(), 1::bigint, now() - interval '9 years', 9, false, now())`,
    [endpoint.id, count],
  );
  await sql('update till.event_endpoints set position = till.event_horizon() where id = $1', [endpoint.id]);
  const failed = await till.get<DeliveryPage>(
    `/event-endpoints/${endpoint.id}/deliveries?status=failed&limit=2`,
  );
  assert.deepEqual(
    failed.data.map(({ status }) => status),
    ['failed', 'failed'],
  );
  assert.deepEqual(
    (await till.get<DeliveryPage>(`/event-endpoints/${endpoint.id}/deliveries?status=pending`)).data,
    [],
  );
  await call('PATCH', `/event-endpoints/${endpoint.id}`, { enabled: true });
  const path = `/event-endpoints/${endpoint.id}/resend-failed`;
  const [first, second] = await Promise.all([
    till.post<{ readonly count: number }>(path),
    till.post<{ readonly count: number }>(path),
  ]);
  assert.equal(first.count + second.count, count);
  await endpoint.sink.arrived(count);
  assert.deepEqual(new Set(idsOf(endpoint.sink.received)), new Set(ids));
  await until(async () => (await sql('select from till.event_resends')).length === 0);
  assert.equal(endpoint.sink.received.length, count);
  assert.deepEqual(await till.post(path), { count: 0 });

  // One that fails for good is a failed delivery again.
  const broken = await connect((response) => response.writeHead(500).end());
  const [id] = await append({});
  await recorded(broken, 'pending', 1);
  await sql('delete from till.event_retries');
  await resend(id, { endpointId: broken.id });
  await recorded(broken, 'pending', 1);
  const isAttempted = (attempt: number) =>
    until(async () => (await deliveriesOf(broken)).some((delivery) => delivery.attempt === attempt));
  await isAttempted(1);
  await sql(`update till.event_resends set give_up_at = now()`);
  await retryNow();
  await recorded(broken, 'failed', 1);
  await until(
    async () =>
      (await till.post<{ count: number }>(`/event-endpoints/${broken.id}/resend-failed`)).count === 1,
  );
  await isAttempted(1);
  await Promise.all([endpoint, broken].map(remove));
  assert.deepEqual(await sql('select from till.event_resends'), []);
});

test('failures whose events are no longer kept do not make a request stop with a count of 0 before the others', async () => {
  const endpoint = await connect();
  const [id] = await append({});
  await recorded(endpoint, 'succeeded', 1);
  // One request handles 10,000.
  await sql(
    `insert into till.event_deliveries (endpoint_id, id, position, event_created_at, attempt, succeeded, created_at)
     select $1::uuid, gen_random_uuid(), -place, now() - interval '9 years', 9, false, now()
       from generate_series(1, 10000) as place
     union all select $1::uuid, gen_random_uuid(), position, created_at, 9, false, now() from (
       select position, created_at from till.events order by position desc limit 1) as kept`,
    [endpoint.id],
  );
  assert.deepEqual(await till.post(`/event-endpoints/${endpoint.id}/resend-failed`), { count: 1 });
  await endpoint.sink.arrived(2);
  assert.deepEqual(idsOf(endpoint.sink.received), [id, id]);
  await remove(endpoint);
});

test('an endpoint that works again gets its resends at once, like its retries', async () => {
  let isBroken = false;
  const endpoint = await connect((response) => response.writeHead(isBroken ? 500 : 204).end());
  const [id] = await append({});
  await recorded(endpoint, 'succeeded', 1);
  isBroken = true;
  await resend(id);
  await recorded(endpoint, 'pending', 1);
  // Only the endpoint, which works again, makes it due.
  await sql(`update till.event_resends set next_attempt_at = now() + interval '4 hours'`);
  await sql(
    `update till.event_endpoints set failing_since = now() - interval '5 minutes' where failing_since is not null`,
  );
  isBroken = false;
  await append({});
  await recorded(endpoint, 'succeeded', 3);
  // And so does a new URL.
  isBroken = true;
  await resend(id);
  await recorded(endpoint, 'pending', 1);
  await sql(`update till.event_resends set next_attempt_at = now() + interval '4 hours'`);
  isBroken = false;
  const url = `${endpoint.sink.url}?again`;
  assert.equal((await call('PATCH', `/event-endpoints/${endpoint.id}`, { url })).status, 200);
  await recorded(endpoint, 'succeeded', 4);
  await remove(endpoint);
});

test('the deliveries of one event are found without reading the others', async (t) => {
  const pool = openPool({ connectionString: till.databaseUrl });
  t.after(() => pool.end());
  // As after a few days: a retry among every hundred deliveries is of an event of days ago.
  await pool.query(
    `insert into till.event_deliveries (endpoint_id, id, position, event_created_at, attempt, succeeded, created_at)
     select gen_random_uuid(), gen_random_uuid(), case when number % 100 = 0 then number - 8000 else number end,
       now(), 1, true, now()
     from generate_series(100000, 160000) as number`,
  );
  await pool.query('vacuum analyze till.event_deliveries');
  const event = { position: 130_001, createdAtMs: Date.now(), checksum: 0, objectId: randomUUID() };
  const { text, values } = deliveryStatement({ event }, null, 100);
  const { rows } = await pool.query<{ 'QUERY PLAN': readonly [{ Plan: PlanNode }] }>(
    `explain (analyze, format json) ${text}`,
    [...values],
  );
  const read = rowsRead(rows[0]?.['QUERY PLAN'][0].Plan ?? assert.fail('there is no plan'));
  assert.ok(read < 3_000, `it read ${read} of 60,000 rows`);
});

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

function rowsRead(node: PlanNode): number {
  const isScan = node['Relation Name']?.startsWith('event_deliveries') === true;
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  const own = isScan ? (node['Actual Rows'] + removed) * node['Actual Loops'] : 0;
  return (node.Plans ?? []).reduce((sum, plan) => sum + rowsRead(plan), own);
}
