/** With a sandbox, its clock decides what customers may use: "no payment, no access" can be tested offline. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connectProcessor, startBackend, webhookSecrets } from '../support/backend.ts';
import { type Client, testKey } from '../support/client.ts';
import { copyCluster } from '../support/cluster-template.ts';
import type { EventPage } from '../support/event-feed.ts';
import { createPastDue } from '../support/past-due.ts';
import { startTill } from '../support/till.ts';
import { quickCommand } from '../support/till-in-child.ts';
import { until } from '../support/until.ts';
import { startWholeTill } from '../support/whole-till.ts';

const graceDays = 3;
const daySeconds = 86_400;
const settings = { API_KEYS: `tests:${testKey}`, ENTITLEMENT_GRACE_DAYS: String(graceDays) };
const processCount = 2;

interface Shown {
  readonly entitled: boolean;
  readonly until: string | null;
  readonly subscriptions: readonly { readonly reason: string; readonly until: string | null }[];
}

async function dataFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'till-business-time-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  copyCluster(folder);
  return folder;
}

const otherProgram = 'a program of its own';
const places: Readonly<Record<string, (t: TestContext) => Promise<Client>>> = {
  'embedded in one process': async (t) => {
    const till = await startWholeTill({ ...settings, DATA_DIR: await dataFolder(t) });
    t.after(() => till.stop());
    return till;
  },
  'embedded beside several processes': async (t) =>
    startTill({
      in: 'child',
      for: t,
      command: quickCommand,
      environment: { ...settings, PROCESSES: String(processCount), DATA_DIR: await dataFolder(t) },
    }),
  [otherProgram]: async (t) => {
    const backend = await startBackend(t, { delivery: 'running' });
    const till = await startWholeTill({
      ...settings,
      DATABASE_URL: backend.databaseUrl,
      PROCESSOR_SECRET_KEY: 'sk_test_till',
      PROCESSOR_API_BASE: backend.processorUrl,
      PROCESSOR_WEBHOOK_SECRET: webhookSecrets[0],
    });
    backend.atEnd(() => till.stop());
    backend.deliverTo(() => till.url);
    return till;
  },
};

for (const [place, start] of Object.entries(places))
  test(`grace ends when the clock of the sandbox says so, and so do its ETag and its event: ${place}`, async (t) => {
    const till = await start(t);
    const { url } = await till.get<{ url: string }>('/sandbox');
    const processor = connectProcessor(url);
    const { customer, subscription } = await createPastDue({ ...till, ...processor });
    const path = `/customers/${customer.id}/entitlements`;
    await until(async () => (await till.get<Shown>(path)).subscriptions[0]?.reason === 'grace');
    const inGrace = await till.call('GET', path);
    const etag = String(inGrace.headers.get('etag'));
    const shown = (await inGrace.json()) as Shown;
    const endMs = Date.parse(String(shown.until));
    const { now } = await till.get<{ now: string }>('/sandbox/clock');
    assert.ok(shown.entitled && endMs > Date.parse(now), `${shown.until} is after ${now}`);

    // Just before the end, and just after it, through both of the sandbox's addresses.
    const advanceSeconds = Math.floor((endMs - Date.parse(now)) / 1_000) - 60;
    await till.post('/sandbox/clock', { advanceSeconds });
    for (let reads = 0; reads < 2 * processCount; reads += 1)
      assert.equal((await till.call('GET', path, undefined, { 'if-none-match': etag })).status, 304);
    await processor.control('clock', { advanceSeconds: 120 });
    // Nothing tells Till that the clock of another program was moved. It asks every tenth of a second.
    if (place === otherProgram) await until(async () => !(await till.get<Shown>(path)).entitled);
    for (let reads = 0; reads < 2 * processCount; reads += 1) {
      const headers = { 'if-none-match': etag, connection: 'close' };
      const response = await till.call('GET', path, undefined, headers);
      assert.equal(response.status, 200);
      const ended = (await response.json()) as Shown;
      assert.deepEqual([ended.entitled, ended.until], [false, null]);
      assert.deepEqual(ended.subscriptions[0]?.reason, 'past_due');
      assert.equal(ended.subscriptions[0]?.until, shown.until);
    }
    // The event is written when the clock moves, not only at the next regular run.
    await until(async () => {
      const query = `objectId=${subscription.id}&types=subscription.unentitled`;
      return (await till.get<EventPage>(`/events?${query}`)).data.length === 1;
    });
  });

test('a checkout may expire by the clock of the sandbox, and an open one is offered again by it', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend, mustNotLogErrors: true });
  await till.control('clock', { advanceSeconds: 40 * daySeconds });
  const { now } = await till.get<{ now: string }>('/sandbox/clock');
  const customer = await till.post<{ id: string }>('/customers', { email: 'jenny@example.com' });
  const checkout = (expiresAt: number) =>
    till.tryPost('/checkouts', {
      ...{ customerId: customer.id, saveCard: true },
      ...{ successUrl: 'https://shop.example/done', cancelUrl: 'https://shop.example/plans' },
      expiresAt: new Date(expiresAt).toISOString(),
    });
  const anHour = 3_600_000;
  const opened = await checkout(Date.parse(now) + anHour);
  assert.equal(opened.status, 201, JSON.stringify(opened.body));
  assert.equal((await checkout(Date.now() + anHour)).status, 400);
});
