import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { eventId, parseEventId } from '#engine/events/feed/event-id.ts';
import { scannedMax } from '#engine/events/feed/event-store.ts';
import { eventNames } from '#features/features.ts';
import { readJson } from '../support/client.ts';
import { appendEvents, type EventBody, type EventPage, newEvent } from '../support/event-feed.ts';
import { readProblem } from '../support/problem.ts';
import { idOfPlace } from '../support/stored-events.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const append = (...events: Parameters<typeof newEvent>[0][]) =>
  appendEvents(till.sql, ...events.map((values) => newEvent(values)));
const read = (query: string) => till.get<EventPage>(`/events?${query}`);
const ids = ({ data }: EventPage) => data.map(({ objectId }) => objectId);
const refused = async (query: string, status = 400, code = 'invalid_request') =>
  readProblem(await till.call('GET', `/events?${query}`), status, code);

/** The newest place of the feed: a filter that selects nothing passes everything. */
async function end(): Promise<string> {
  const { data, nextCursor } = await read('objectId=none');
  assert.deepEqual(data, []);
  return nextCursor ?? assert.fail('the feed is empty');
}

/** Objects with ids in the order of their events. */
const objects = Array.from({ length: 5 }, () => randomUUID());

test('an empty feed has no events and no cursor', async () => {
  assert.deepEqual(await read(''), { data: [], nextCursor: null });
  assert.deepEqual(await read('objectId=none&types=plan.created'), { data: [], nextCursor: null });
});

test('events have every field, oldest first', async () => {
  const [objectId = '', customerId = ''] = [randomUUID(), randomUUID()];
  const event = newEvent({
    type: 'payment.succeeded',
    objectType: 'payment',
    objectId,
    customerId,
    data: { id: objectId, status: 'succeeded', description: 'Zoë’s "order"\nline' },
    previous: { status: 'processing' },
    cause: { kind: 'webhook', keyName: null, person: null, requestId: null, processorEventId: 'evt_1' },
  });
  const before = Date.now();
  await appendEvents(till.sql, event);
  const [shown, ...others] = (await read('')).data;
  assert.ok(shown !== undefined && others.length === 0);
  assert.deepEqual(shown, { ...event, id: shown.id, createdAt: shown.createdAt });
  assert.deepEqual(Object.keys(shown), [
    ...['id', 'type', 'createdAt', 'objectType', 'objectId', 'customerId', 'data', 'previous', 'cause'],
  ]);
  const time = Date.parse(shown.createdAt);
  assert.ok(time >= before - 1_000 && time <= Date.now() + 1_000, shown.createdAt);
  assert.match(shown.id, /^evt_/);
});

test('`after` continues behind an event, and `nextCursor` continues behind the page', async () => {
  const start = await end();
  for (const objectId of objects) await append({ objectId });
  const all = await read(`after=${start}`);
  assert.deepEqual(ids(all), objects);
  const seen: string[] = [];
  let after: string | null = start;
  let pages = 0;
  for (; after !== null; pages += 1) {
    const page: EventPage = await read(`after=${after}&limit=2`);
    seen.push(...ids(page));
    after = page.nextCursor;
  }
  assert.deepEqual(seen, objects);
  assert.equal(pages, 4, 'the last page is empty, and its cursor null');
  const [, second] = all.data;
  assert.deepEqual(ids(await read(`after=${second?.id}`)), objects.slice(2));
});

test('filters select by type, object and customer, and the cursor passes what they leave out', async () => {
  const start = await end();
  const [payment, customer, other] = [randomUUID(), randomUUID(), randomUUID()];
  const ofPayment = { objectType: 'payment', objectId: payment, customerId: customer } as const;
  await append({ ...ofPayment, type: 'payment.created' });
  await append({ objectType: 'plan', type: 'plan.archived', customerId: null });
  await append({ ...ofPayment, type: 'payment.succeeded' });
  await append({ type: 'customer.updated', objectId: customer });
  await append({ type: 'customer.updated', objectId: other });
  const last = await end();
  const types = async (query: string) => {
    const page = await read(`after=${start}&${query}`);
    assert.equal(page.nextCursor, last, query);
    return page.data.map(({ type }) => type).join();
  };
  assert.equal(await types('types=plan.archived,payment.created'), 'payment.created,plan.archived');
  assert.equal(await types(`objectId=${payment}`), 'payment.created,payment.succeeded');
  assert.equal(await types(`objectId=${payment.toUpperCase()}&types=payment.created`), 'payment.created');
  assert.equal(await types(`customerId=${customer}`), 'payment.created,payment.succeeded,customer.updated');
  assert.equal(await types(`customerId=${customer}&types=customer.updated`), 'customer.updated');
  assert.equal(
    await types(`customerId=${customer}&objectId=${payment}&types=payment.succeeded`),
    'payment.succeeded',
  );
  assert.equal(await types(`customerId=${other}&objectId=${payment}`), '');
  assert.equal(await types('types=invoice.paid'), '');
  assert.equal(await types('customerId=not%20an%20id'), '');
  assert.deepEqual(await read(`after=${last}&types=invoice.paid`), { data: [], nextCursor: null });
  assert.equal((await read(`after=${start}&types=plan.archived&limit=1`)).data.length, 1);
});

test('with `sort=-createdAt` a walk shows each event once, newest first, with the same filters', async () => {
  const all = (await read('limit=1000')).data.map(({ id }) => id);
  const walk = async (filters: string) => {
    const seen: EventBody[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: EventPage = await read(
        `sort=-createdAt&limit=2${filters}${cursor === '' ? '' : `&after=${cursor}`}`,
      );
      seen.push(...page.data);
      cursor = page.nextCursor;
    }
    return seen;
  };
  assert.deepEqual(
    (await walk('')).map(({ id }) => id),
    all.toReversed(),
  );
  const oldestFirst = (await read('types=plan.updated&limit=1000')).data;
  assert.deepEqual(await walk('&types=plan.updated'), oldestFirst.toReversed());
  assert.deepEqual(await walk('&objectId=none'), []);
});

test('a rare type is found among more events than one statement looks at', async () => {
  const start = await end();
  const many = scannedMax + 1;
  await till.sql(
    `insert into till.events (position, created_at, type, object_type, object_id, data, previous, cause)
     select nextval('till.event_positions'), now(), 'payment.updated', 'payment', gen_random_uuid(), '{}', '{}', '{}'
     from generate_series(1, $1)`,
    [many],
  );
  await append({ type: 'plan.archived', objectType: 'plan', customerId: null });
  const found = await read(`after=${start}&types=plan.archived`);
  assert.deepEqual(
    found.data.map(({ type }) => type),
    ['plan.archived'],
  );
  assert.equal(found.nextCursor, await end());
  // More than one page of an event that is not rare.
  const page = await read(`after=${start}&types=payment.updated&limit=1000`);
  assert.deepEqual([page.data.length, page.nextCursor], [1_000, page.data.at(-1)?.id]);
});

test('400: for unknown types, the problem names the known ones', async () => {
  for (const types of [
    'payment.paid',
    'payment.created,',
    '',
    'payment',
    '*',
    'payment.created;plan.created',
  ]) {
    const { detail, errors } = await refused(`types=${encodeURIComponent(types)}`);
    assert.equal(errors?.[0]?.path, 'query.types');
    for (const type of eventNames.types) assert.ok(detail.includes(type), type);
  }
});

test('400: an `after` that is not the id of an event', async () => {
  const place = parseEventId(await end());
  assert.ok(place !== undefined);
  const { position, createdAtMs, checksum } = place;
  const unknown = [
    ...['1', '', 'evt_', 'evt_AAAAAAAAAAAAAAA', randomUUID(), 'x'.repeat(101), "evt_'; select 1 --"],
    eventId({ position: position + 1, createdAtMs, checksum }),
    eventId({ position, createdAtMs: createdAtMs + 1, checksum }),
    eventId({ position, createdAtMs, checksum: Math.abs(checksum - 1) }),
    eventId({ position: 2 ** 48 - 1, createdAtMs: 2 ** 48 - 1, checksum }),
  ];
  for (const id of unknown) {
    const { errors } = await refused(`after=${encodeURIComponent(id)}`);
    assert.equal(errors?.[0]?.path, 'query.after', id);
  }
});

test('410: an `after` that is older than what is kept says what to do', async () => {
  const months = 120 * 86_400_000;
  const expired = await idOfPlace(till.sql, 1, Date.now() - months);
  const { detail } = await refused(`after=${expired}`, 410, 'event_expired');
  assert.match(detail, /Read the objects again/);
});

test('410: the last event of a reader expires with its week', async () => {
  const old = new Date(Date.now() - 50 * 86_400_000).toISOString();
  await till.sql(`select till.make_weeks('events', $1, $1)`, [old]);
  const [row] = await till.sql<{ position: number; ms: number; week: string }>(
    `insert into till.events (position, created_at, type, object_type, object_id, data, previous, cause)
     values (nextval('till.event_positions'), $1, 'plan.created', 'plan', gen_random_uuid(), '{}', '{}', '{}')
     returning position, (extract(epoch from created_at) * 1000)::bigint as ms,
       'events_' || to_char(date_trunc('week', created_at at time zone 'utc'), 'YYYYMMDD') as week`,
    [old],
  );
  assert.ok(row !== undefined);
  const after = await idOfPlace(till.sql, row.position, row.ms);
  assert.deepEqual(await read(`after=${after}`), { data: [], nextCursor: null });
  // A week with events that the overview has not counted is kept.
  await till.sql('update till.overview_progress set position = $1', [row.position]);
  await till.sql('select till.drop_event_week($1)', [row.week]);
  await refused(`after=${after}`, 410, 'event_expired');
});

test('a HEAD request has the headers of a page, whatever it accepts', async () => {
  for (const accept of ['text/event-stream', '*/*']) {
    const response = await till.fetch('/api/v1/events?limit=1', { method: 'HEAD', headers: { accept } });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  }
});

test('a caller that excludes the stream, or prefers JSON, gets a page', async () => {
  for (const accept of ['text/event-stream;q=0', 'text/event-stream;q=0.5, application/json']) {
    const response = await till.fetch('/api/v1/events?limit=1', { headers: { accept } });
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
    await response.json();
  }
});

test('`waitSeconds` waits for an event that the filters select', async () => {
  const after = await end();
  const objectId = randomUUID();
  const waiting = read(`after=${after}&objectId=${objectId}&waitSeconds=30`);
  await append({ type: 'customer.created' });
  const passed = await read(`after=${after}&types=plan.archived&waitSeconds=1`);
  assert.deepEqual(passed, { data: [], nextCursor: await end() });
  await append({ objectId });
  const page = await waiting;
  assert.deepEqual(ids(page), [objectId]);
  assert.equal(page.nextCursor, page.data[0]?.id);
});

test('a wait ends at once if there are events already', async () => {
  const after = await end();
  const objectId = randomUUID();
  await append({ objectId });
  assert.deepEqual(ids(await read(`after=${after}&waitSeconds=30`)), [objectId]);
});

test('the timeline of an object says what happened and what caused it', async () => {
  const objectId = randomUUID();
  const cause = {
    kind: 'api',
    keyName: 'shop',
    person: null,
    requestId: 'order-7',
    processorEventId: null,
  } as const;
  await append({ objectId, type: 'customer.created', cause });
  await append({ objectId, type: 'customer.updated', cause: { ...cause, keyName: 'support' } });
  const response = await till.call('GET', `/events?objectId=${objectId}`);
  const { data } = await readJson<EventPage>(response, 200);
  assert.deepEqual(
    data.map(({ type, cause: shown }: EventBody) => [type, shown['keyName'], shown['requestId']]),
    [
      ['customer.created', 'shop', 'order-7'],
      ['customer.updated', 'support', 'order-7'],
    ],
  );
});
