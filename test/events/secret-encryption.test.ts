import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { type Backend, startBackend } from '../support/backend.ts';
import { deliveryCalls } from '../support/deliveries.ts';
import { dumpTables } from '../support/dump-tables.ts';
import { startEventSink } from '../support/event-sink.ts';
import { startTill } from '../support/till.ts';
import { backendEnvironment } from '../support/till-in-child.ts';
import { until } from '../support/until.ts';
import { startWholeTill } from '../support/whole-till.ts';

const [first, second] = ['1'.repeat(32), '2'.repeat(32)];
const path = '/event-endpoints';

interface EndpointBody {
  readonly id: string;
  readonly secret: string;
}

const startWith = (backend: Backend, secretKeys: readonly string[]) =>
  startTill({ in: 'process', on: backend, events: { secretKeys, allowPrivate: true } });

test('an encryption key encrypts the stored secrets at the next start, and a new first one encrypts them again', async (t) => {
  const backend = await startBackend(t);
  const plain = await startWith(backend, []);
  const url = 'http://127.0.0.1:9/';
  const { id, secret } = await plain.post<EndpointBody>(path, { url });
  const rotated = await plain.post<EndpointBody>(`${path}/${id}/rotate-secret`);
  await plain.post(path, { url });
  const shown = await plain.get(path);
  assert.ok((await dumpTables(backend.databaseUrl)).includes(secret));

  for (const keys of [first, `${second},${first}`]) {
    const till = await startWholeTill({ ...backendEnvironment(backend), EVENT_SECRET_KEYS: keys });
    const line = await till.logged('secrets of event endpoints encrypted');
    await till.stop();
    assert.equal(line['count'], 3);
    assert.ok(!JSON.stringify(till.lines).includes(secret));
  }
  const dump = await dumpTables(backend.databaseUrl);
  for (const text of [secret, rotated.secret]) assert.ok(!dump.includes(text));
  const till = await startWith(backend, [second]);
  assert.deepEqual(await till.services.secretUpkeep.count(), { readable: 3, outdated: 0, unreadable: 0 });
  assert.deepEqual(await till.get(path), shown, 'no endpoint looks changed');

  // Every secret still signs.
  const sink = await startEventSink(t);
  const delivering = await startTill({
    ...{ in: 'process', on: backend, delivers: true },
    events: { secretKeys: [second], allowPrivate: true },
  });
  await delivering.call('PATCH', `${path}/${id}`, { url: sink.url });
  await deliveryCalls(delivering).append({});
  await sink.arrived(1);
  const [event] = sink.received;
  for (const valid of [secret, rotated.secret])
    assert.ok(new Webhook(valid).verify(String(event?.text), event?.headers as Record<string, string>));
});

test('several processes and rotations at once lose no secret', async (t) => {
  const backend = await startBackend(t);
  const plain = await startWith(backend, []);
  const tills = await Promise.all([startWith(backend, [first]), startWith(backend, [first])]);
  const endpoints = await Promise.all(
    Array.from({ length: 8 }, () => plain.post<EndpointBody>(path, { url: 'http://127.0.0.1:9/' })),
  );
  const rotations = endpoints.map(({ id }) => plain.post<EndpointBody>(`${path}/${id}/rotate-secret`));
  const runs = tills.map(({ services }) => services.secretUpkeep.run());
  const rotated = await Promise.all(rotations);
  await Promise.all(runs);
  // A process without the encryption key may have written after the others had checked.
  await Promise.all(tills.map(({ services }) => services.secretUpkeep.run()));
  const [till] = tills;
  assert(till !== undefined);
  assert.deepEqual(await till.services.secretUpkeep.count(), { readable: 16, outdated: 0, unreadable: 0 });
  for (const [index, { id, secret }] of endpoints.entries()) {
    const stored = await till.services.endpoints.read(id);
    assert.equal(till.services.endpoints.secretOf(stored), rotated[index]?.secret);
    const [replaced] = stored.replacedSecrets;
    assert.equal(till.services.endpoints.secretOf({ ...stored, secret: String(replaced?.secret) }), secret);
  }
});

test('a run that is interrupted keeps what it did, and the next one does the rest', async (t) => {
  const backend = await startBackend(t);
  const plain = await startWith(backend, []);
  for (let count = 0; count < 3; count += 1) await plain.post(path, { url: 'http://127.0.0.1:9/' });
  const { secretUpkeep } = (await startWith(backend, [first])).services;
  const stopping = new AbortController();
  // The lock of the second endpoint holds the run in the middle.
  const holder = new pg.Client({ connectionString: backend.databaseUrl });
  await holder.connect();
  backend.atEnd(() => holder.end());
  const { data } = await plain.services.endpoints.list({ limit: 3 });
  await holder.query('begin');
  await holder.query('select from till.event_endpoints where id = $1 for update', [data[1]?.id]);
  const run = secretUpkeep.run(stopping.signal);
  await until(async () => {
    const waiting = await backend.sql(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return waiting.length > 0;
  });
  stopping.abort();
  await holder.query('rollback');
  await run;
  assert.deepEqual(await secretUpkeep.count(), { readable: 3, outdated: 1, unreadable: 0 });
  await secretUpkeep.run();
  assert.deepEqual(await secretUpkeep.count(), { readable: 3, outdated: 0, unreadable: 0 });
});
