import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { HistoryWatch } from '#core/platform/history-watch.ts';
import { openStream } from '../support/event-feed.ts';
import { captureLog } from '../support/log-capture.ts';
import { appendForIds } from '../support/stored-events.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after } });
const { sql } = till;

const append = (count: number) =>
  appendForIds(
    sql,
    Array.from({ length: count }, () => ({})),
  );

async function drawn(): Promise<number> {
  const [row] = await sql<{ position: number }>('select last_value as position from till.event_positions');
  return row?.position ?? 0;
}

async function readIds(stream: Awaited<ReturnType<typeof openStream>>, count: number) {
  const ids: string[] = [];
  while (ids.length < count) ids.push((await stream.nextEvent()).id);
  return ids;
}

test('data is restored into a running server: no read fails, and readers get each new event and no lost one', async () => {
  let changes = 0;
  const { logger } = captureLog();
  const watch = new HistoryWatch({ database: till.database, logger }, () => (changes += 1));
  const kept = await append(3);
  const open = await openStream(till);
  assert.deepEqual(await readIds(open, 3), kept);
  const position = await drawn();
  const lost = await append(50);
  assert.deepEqual(await readIds(open, 50), lost);
  const positionLost = await drawn();
  await watch.check();
  await watch.check();
  assert.equal(changes, 0);

  await sql('delete from till.events where position > $1', [position]);
  await sql(`select setval('till.event_positions', $1)`, [position]);
  await watch.check();
  assert.equal(changes, 1);
  await watch.check();
  assert.equal(changes, 1);
  const resumed = await Promise.all(
    [kept[0], kept[2], lost[20], lost[49]].map((id) => openStream(till, `?after=${id}`)),
  );
  const [first] = resumed;
  assert.ok(first !== undefined);
  assert.deepEqual(await readIds(first, 2), kept.slice(1));
  const news = await append(20);
  for (const stream of [open, ...resumed]) {
    assert.deepEqual(await readIds(stream, 20), news);
    stream.close();
  }
  assert.ok((await drawn()) > positionLost + 20);
});

test('the first transactions of a new history skip the lost positions once, and use each position once', async () => {
  const before = await drawn();
  await sql('select till.break_history()');
  await Promise.all(Array.from({ length: 20 }, () => append(1)));
  const rows = await sql<{ position: number }>(
    'select position from till.events where position > $1 order by position',
    [before],
  );
  const positions = rows.map(({ position }) => position);
  assert.equal(new Set(positions).size, 20);
  const [lowest = 0] = positions;
  assert.ok(lowest > before + 10_000_000, 'the gap');
  assert.ok((positions.at(-1) ?? 0) < lowest + 100, 'there is one gap');
});
