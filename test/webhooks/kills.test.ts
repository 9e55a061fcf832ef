/**
 * What was acknowledged is applied, whatever dies in between. By hand, for longer:
 *   KILL_EVENTS=100000 npm run test:faults -- test/webhooks/kills.test.ts
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Stripe } from 'stripe';
import { createRandom } from '#runtime/seed/random.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { testKey } from '../support/client.ts';
import { copyCluster } from '../support/cluster-template.ts';
import { effort } from '../support/effort.ts';
import { mainServerPid } from '../support/embedded-postgres-processes.ts';
import { RestartableTill } from '../support/restartable-till.ts';
import { seedOf } from '../support/seeds.ts';
import { type ApiClient, createApiClient } from './model/api-client.ts';
import { inLanes } from './model/event-delivery.ts';

const eventsCount = Number(process.env['KILL_EVENTS'] ?? effort({ short: 300, long: 20_000 }));
const customersCount = 20;
/** The processor sends about so many at a time. */
const sendersCount = 16;
/** Each time first the service and then its database. */
const killsCount = effort({ short: 2, long: 20 });
const webhookSecret = 'whsec_kills';
/** Between two looks at a queue that empties by itself. */
const lookDelayMs = 50;
/** A minute and more: far longer than the queue needs, far shorter than the runner's patience. */
const looksMax = 1_500;

test(`of ${eventsCount} events every acknowledged one is applied, through ${killsCount} kills of service and database`, async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'till-kills-'));
  copyCluster(dataDir);
  const sandbox = await startSandbox({ port: 0 });
  const till = await RestartableTill.start({
    DATA_DIR: dataDir,
    PROCESSOR_SECRET_KEY: 'sk_test_till',
    PROCESSOR_API_BASE: sandbox.url,
    PROCESSOR_WEBHOOK_SECRET: webhookSecret,
    API_KEYS: testKey,
  });
  // In this order: a database that still writes would keep its folder from being removed.
  t.after(async () => {
    await till.stop();
    await sandbox.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  const api = createApiClient(till.client);
  const customers = await Promise.all(Array.from({ length: customersCount }, () => newCustomer(api)));
  const events = renamingsOf(customers, eventsCount);
  const seed = seedOf('MODEL');
  t.diagnostic(`MODEL_SEED=${seed}`);

  const killEvery = Math.floor(eventsCount / (killsCount + 1));
  let acknowledged = 0;
  await inLanes(sendersCount, shuffled(events, seed), async (event) => {
    const payload = JSON.stringify(event);
    await till.deliver(
      payload,
      Stripe.webhooks.generateTestHeaderString({ payload, secret: webhookSecret, timestamp: nowSeconds() }),
    );
    acknowledged += 1;
    if (acknowledged % killEvery !== 0 || acknowledged / killEvery > killsCount) return;
    if ((acknowledged / killEvery) % 2 === 1) till.kill();
    // With its main process gone, the rest of PostgreSQL ends by itself.
    else process.kill(mainServerPid(dataDir), 'SIGKILL');
  });
  assert.equal(acknowledged, eventsCount);

  await till.isUp();
  for (let looks = 0; looks < looksMax && (await countEvents(api, 'pending')) > 0; looks += 1)
    await setTimeout(lookDelayMs);
  // Recovery also reads the events of the customers' creation from the list.
  assert.equal(await countEvents(api, 'processed&type=customer.updated'), eventsCount);
  for (const [index, { id }] of customers.entries()) {
    const newest = events.findLast((_, position) => position % customersCount === index);
    const customer = await api.call<{ name: string }>('GET', `customers/${id}`);
    assert.equal(customer?.name, newest?.data.object.name);
  }
});

interface CreatedCustomer {
  readonly id: string;
  readonly processorCustomerId: string;
}

async function newCustomer(api: ApiClient): Promise<CreatedCustomer> {
  const created = await api.call<CreatedCustomer>('POST', 'customers', { email: 'ada@example.com' });
  assert(created !== undefined);
  return created;
}

/** Each customer in its turn gets another name, a second after the last one. */
function renamingsOf(customers: readonly CreatedCustomer[], count: number) {
  const first = nowSeconds() + 1;
  return Array.from({ length: count }, (_, index) => ({
    id: `evt_kill_${index}`,
    object: 'event',
    type: 'customer.updated',
    api_version: '2026-10-28.endive',
    created: first + index,
    livemode: false,
    data: {
      object: {
        id: customers[index % customers.length]?.processorCustomerId ?? '',
        object: 'customer',
        created: first,
        email: 'ada@example.com',
        name: `Name ${index}`,
        phone: null,
        metadata: {},
      },
    },
  }));
}

const limit = 100;

/** Counts page by page: the total of a filtered list is counted only up to a limit. */
async function countEvents(api: ApiClient, state: string): Promise<number> {
  for (let page = 1, count = 0; ; page += 1) {
    const path = `webhook-events?state=${state}&limit=${limit}&page=${page}`;
    const found = await api.call<{ data: readonly unknown[] }>('GET', path);
    assert(found !== undefined);
    count += found.data.length;
    if (found.data.length < limit) return count;
  }
}

function shuffled<T>(items: readonly T[], seed: number): readonly T[] {
  const random = createRandom(seed);
  return items
    .map((item) => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}
