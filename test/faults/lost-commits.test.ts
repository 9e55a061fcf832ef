/**
 * The newest commits are lost: an asynchronous failover, or a copy of the files that is put back. Processes survive it.
 * Readers of events get what exists, each event once, and what was acknowledged comes back from the processor.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import type { Backend } from '../support/backend.ts';
import { type EventBody, type EventPage, openStream } from '../support/event-feed.ts';
import { startEventSink } from '../support/event-sink.ts';
import { appendForIds, idOfPlace } from '../support/stored-events.ts';
import { until } from '../support/until.ts';
import type { WholeTill } from '../support/whole-till.ts';
import { startLossyStage, waysBut } from './rig/lossy-stage.ts';

/** More than the 32 values that PostgreSQL draws from a sequence in advance. */
const lostCount = 60;
const keptCount = 10;
const newCount = 20;
/** Of one endpoint. */
const sentAtATime = 10;

for (const [name, as] of waysBut('an asynchronous failover to a standby'))
  test(`${name}: readers get what exists, and each new event once`, async (t) => {
    const stage = await startLossyStage(t);
    const { backend, tills } = stage;
    const [one, other] = tills;
    const kept = await append(backend, keptCount);
    // One process has a reader all the time. The reader of the other goes before it happens.
    const lastObject = randomUUID();
    const open = followStream(one, { lastObject });
    const before = followStream(other, { lastObject });
    for (const reader of [open, before]) await reader.hasRead(kept.at(-1) ?? '');
    await stage.save();
    const lost = await append(backend, lostCount);
    for (const reader of [open, before]) await reader.hasRead(lost.at(-1) ?? '');
    before.close();
    assert.deepEqual(idsOf(await before.events), [...kept, ...lost]);

    await stage.lose(as);
    await Promise.all(tills.map((till) => until(async () => (await till.fetch('/health')).ok)));
    const middle = keptCount / 2;
    // They come back before there is anything new.
    const resumed = tills.flatMap((till) => [
      { expected: kept, reader: followStream(till, { lastObject }) },
      { expected: kept.slice(middle + 1), reader: followStream(till, { lastObject, after: kept[middle] }) },
      { expected: [], reader: followStream(till, { lastObject, after: kept.at(-1) }) },
      { expected: [], reader: followStream(till, { lastObject, after: lost[lostCount / 2] }) },
      { expected: [], reader: followStream(till, { lastObject, after: lost.at(-1) }) },
    ]);
    await Promise.all(
      resumed.map(({ expected, reader }) => expected.length > 0 && reader.hasRead(expected.at(-1) ?? '')),
    );
    const news = [
      ...(await append(backend, newCount)),
      ...(await appendForIds(backend.sql, [{ objectId: lastObject }])),
    ];
    assert.deepEqual(await idsInTable(backend), [...kept, ...news]);
    assert.deepEqual(idsOf(await open.events), [...kept, ...lost, ...news]);
    for (const { expected, reader } of resumed)
      assert.deepEqual(idsOf(await reader.events), [...expected, ...news]);
    for (const till of tills)
      for (const [after, expected] of [
        [undefined, [...kept, ...news]],
        [kept[middle], [...kept.slice(middle + 1), ...news]],
        [lost[0], news],
        [news[0], news.slice(1)],
      ] as const)
        assert.deepEqual(idsOf(await readPages(till, after, lastObject)), expected);
  });

for (const [name, as] of waysBut('a copy of the files that keeps its timeline'))
  test(`${name}: what was acknowledged comes back at once, and no position is used again`, async (t) => {
    const stage = await startLossyStage(t);
    const { backend, tills } = stage;
    await append(backend, keptCount);
    await stage.save();
    await append(backend, lostCount);
    const customers = await Promise.all(
      tills.map((till) => till.post<{ id: string }>('/customers', { email: 'ada@example.com' })),
    );
    const before = await idsInTable(backend);
    const positionsBefore = await positionsInTable(backend);
    await stage.lose(as, async (sql) => {
      // Several at once, before any process can notice.
      await Promise.all(Array.from({ length: newCount }, () => appendForIds(sql, [{}])));
    });
    await Promise.all(tills.map((till) => until(async () => (await till.fetch('/health')).ok)));
    for (const { id } of customers)
      for (const till of tills) {
        const path = `/events?after=${before.at(-1)}&objectId=${id}&waitSeconds=30`;
        const { data } = await till.get<EventPage>(path);
        assert.equal(data[0]?.type, 'customer.created', 'it was recovered long before the regular recovery');
        assert.equal((await till.tryGet(`/customers/${id}`)).status, 200);
      }
    const news = (await positionsInTable(backend)).slice(keptCount);
    assert.equal(new Set(news).size, newCount + customers.length);
    assert.ok(Math.min(...news) > Math.max(...positionsBefore));
  });

test('an endpoint gets no lost event that was not sent yet, what failed in the lost part again, and every new event', async (t) => {
  const stage = await startLossyStage(t);
  const { backend, tills } = stage;
  const held: ((status: number) => void)[] = [];
  let isHolding = true;
  const sink = await startEventSink(t, (response) => {
    if (isHolding) held.push((status) => response.writeHead(status).end());
    else response.writeHead(204).end();
  });
  await tills[0].post('/event-endpoints', { url: sink.url });
  const [failed = ''] = await append(backend, 1);
  await sink.arrived(1);
  await stage.save();
  // That it fails, and when it is sent again, is recorded in the part that is lost.
  held.splice(0).forEach((respond) => void respond(503));
  await until(() => hasRows(backend, 'select from till.event_retries where attempt = 1'));
  const lost = await append(backend, lostCount);
  // As many as are sent at a time. The others wait in memory.
  await sink.arrived(1 + sentAtATime);
  const sentBefore = sink.received.length;

  await stage.lose('standby');
  await until(() => hasRows(backend, 'select from till.event_endpoints where history = till.history()'));
  isHolding = false;
  for (const respond of held) respond(204);
  const news = await append(backend, newCount);
  const expected = [failed, ...news];
  // What failed may be sent again before the new events exist, or before it is lost that it failed.
  const sent = () => sink.received.slice(sentBefore).map(({ body }) => body.id);
  while (!expected.every((id) => sent().includes(id))) await sink.arrived(sink.received.length + 1);
  assert.deepEqual([...new Set(sent())].sort(), [...expected].sort());
  assert.equal(
    sent().some((id) => lost.includes(id)),
    false,
  );
});

function append({ sql }: Backend, count: number): Promise<readonly string[]> {
  return appendForIds(
    sql,
    Array.from({ length: count }, () => ({})),
  );
}

async function hasRows({ sql }: Backend, text: string): Promise<boolean> {
  // While the server is being replaced, there is no response.
  const rows = await sql(text).catch(() => []);
  return rows.length > 0;
}

async function positionsInTable({ sql }: Backend): Promise<readonly number[]> {
  const rows = await sql<{ position: number }>('select position from till.events order by position');
  return rows.map(({ position }) => position);
}

/** The ids of all events, in order. */
async function idsInTable({ sql }: Backend): Promise<readonly string[]> {
  const rows = await sql<{ position: number; created_at: Date }>(
    'select position, created_at from till.events order by position',
  );
  return Promise.all(rows.map(({ position, created_at }) => idOfPlace(sql, position, created_at.getTime())));
}

const idsOf = (events: readonly EventBody[]) => events.map(({ id }) => id);

/** Reads small pages up to the event of an object. */
async function readPages(
  till: WholeTill,
  after: string | undefined,
  lastObject: string,
): Promise<readonly EventBody[]> {
  const events: EventBody[] = [];
  let cursor = after;
  while (events.at(-1)?.objectId !== lastObject) {
    const from = cursor === undefined ? '' : `&after=${cursor}`;
    const page = await till.get<EventPage>(`/events?limit=7&waitSeconds=30${from}`);
    events.push(...page.data);
    cursor = page.nextCursor ?? cursor;
  }
  return events;
}

interface Following {
  /** The reader ends with the event of this object. */
  readonly lastObject: string;
  readonly after?: string | undefined;
}

/** Follows a stream as an application does, through broken connections and refusals. */
function followStream(till: WholeTill, { lastObject, after }: Following) {
  const events: EventBody[] = [];
  const arrived = new EventEmitter();
  let isClosed = false;
  let close = () => {};
  const follow = async () => {
    while (!isClosed) {
      const last = events.at(-1)?.id ?? after;
      const stream = await openStream(till, '', last === undefined ? {} : { 'last-event-id': last });
      close = stream.close;
      try {
        while (stream.response.ok) {
          const event = await stream.nextEvent();
          events.push(event);
          arrived.emit('event');
          if (event.objectId === lastObject) return events;
        }
      } catch {
        // The stream has ended. It goes on where it was.
      } finally {
        stream.close();
      }
    }
    return events;
  };
  return {
    events: follow(),
    hasRead: async (id: string) => {
      while (!events.some((event) => event.id === id)) await once(arrived, 'event');
    },
    close: () => {
      isClosed = true;
      close();
    },
  };
}
