import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { deliveryCalls, patientRetryDelayMs } from '../support/deliveries.ts';
import { dumpTables } from '../support/dump-tables.ts';
import { startEventSink } from '../support/event-sink.ts';
import { freePort } from '../support/free-port.ts';
import type { CustomerBody } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { projectFolder } from '../support/till-in-child.ts';
import { until } from '../support/until.ts';

const till = await startTill({
  in: 'process',
  for: { after },
  delivers: true,
  events: { allowPrivate: true, retryDelayMs: patientRetryDelayMs },
  mustNotLogErrors: true,
});
const { append, recorded, deliveriesOf } = deliveryCalls(till);

test('what an endpoint responded to the events of a deleted customer is erased', async (t) => {
  let status = 200;
  const sink = await startEventSink(t, (response) =>
    response.writeHead(status).end('Ada Lovelace of Deliveries'),
  );
  const types = ['payment.updated', 'plan.updated'];
  const endpoint = await till.post<{ id: string }>('/event-endpoints', { url: sink.url, types });
  const customer = await till.post<CustomerBody>('/customers', { email: 'ada@example.com' });
  const about = { type: 'payment.updated', customerId: customer.id } as const;
  await append(about, about, { type: 'plan.updated' });
  await recorded(endpoint, 'succeeded', 3);
  status = 500;
  await append(about);
  await recorded(endpoint, 'pending', 1);
  await till.sql(`delete from till.events where customer_id is null`);
  assert.equal((await till.call('DELETE', `/customers/${customer.id}`)).status, 204);
  await till.services.erasure.run();
  const kept = (await deliveriesOf(endpoint)).filter(({ responseBody }) => responseBody !== null);
  assert.equal(kept.length, 1, 'that of the plan');
  await till.sql('update till.event_deliveries set response_body = null where customer_id is null');
  assert.ok(!(await dumpTables(till.databaseUrl)).includes('Ada Lovelace of Deliveries'));
  await till.call('DELETE', `/event-endpoints/${endpoint.id}`);
});

test('weeks of deliveries are created, and dropped after the retention period', async () => {
  const old = `now() - interval '200 days'`;
  await till.sql(`select till.make_weeks('event_deliveries', ${old}, ${old})`);
  const insert = (time: string) =>
    till.sql(
      `insert into till.event_deliveries (endpoint_id, id, position, event_created_at, attempt, succeeded, created_at)
       values (gen_random_uuid(), gen_random_uuid(), 1, ${time}, 1, true, ${time})`,
    );
  await insert(old);
  await insert(`now() - interval '150 days'`);
  await insert('now()');
  const count = async (table: string) => {
    const [row] = await till.sql<{ count: number }>(`select count(*) as count from till.${table}`);
    return row?.count;
  };
  assert.equal(await count('event_deliveries_other'), 1, 'its week was not created');
  const before = Number(await count('event_deliveries'));
  assert.equal(await till.services.retention.run(), true);
  assert.equal(await count('event_deliveries'), before - 2);
  assert.equal(await count('event_deliveries_other'), 0);
});

test('the example of docs/webhooks-out.md verifies and handles an event once', async (t) => {
  const guide = await readFile(`${projectFolder}/docs/webhooks-out.md`, 'utf8');
  const [, code = ''] = /```ts\n(import \{ createServer \}.*?)```/s.exec(guide) ?? [];
  const port = await freePort();
  const { id, secret } = await till.post<{ id: string; secret: string }>('/event-endpoints', {
    url: `http://127.0.0.1:${port}/`,
  });
  const runnable = code.replace('listen(4000)', `listen(${port})`);
  const setup = 'const endpoint = { secret: process.env.TILL_EVENT_SECRET };\n';
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', setup + runnable], {
    cwd: projectFolder,
    env: { TILL_EVENT_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(async () => {
    child.kill();
    await till.call('DELETE', `/event-endpoints/${id}`);
  });
  await until(() => listens(port));
  const lines = createInterface({ input: child.stdout });
  const printed: string[] = [];
  lines.on('line', (text) => printed.push(text));
  const [first] = await append({ type: 'customer.created', data: { email: 'ada@example.com' } });
  await recorded({ id }, 'succeeded', 1);
  assert.equal((await deliveriesOf({ id }))[0]?.responseStatus, 204);
  await till.post(`/event-endpoints/${id}/replay`, { after: null });
  await until(async () => {
    const sent = (await deliveriesOf({ id })).filter(({ eventId }) => eventId === first);
    return sent.length === 2 && sent.every(({ responseStatus }) => responseStatus === 204);
  });
  const forged = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' });
  assert.equal(forged.status, 400);
  // All that it printed has arrived.
  const closed = once(lines, 'close');
  child.kill();
  await closed;
  const welcomes = printed.filter((line) => line === 'welcome ada@example.com');
  assert.equal(welcomes.length, 1, 'a repeated event is not handled again');
});

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    // Each look is a statement, so that the looks last long enough.
    await till.sql('select 1');
    return false;
  } finally {
    socket.destroy();
  }
}
