import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { appendFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { effort } from '../../test/support/effort.ts';
import { type Sandbox, startSandbox } from '../sandbox.ts';
import { heapUsedBytes, useReceiver, useSandbox, worldOf } from './support.ts';

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'till-worlds-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const journals = (dataDir: string) => readdir(join(dataDir, 'sandbox', 'worlds'));

test('worlds survive a restart, even if their names differ only in case', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox({ port: 0, dataDir });
  for (const name of ['checkout', 'Checkout', 'CI_run-7'])
    await worldOf(before, name).stripe.customers.create({ name });
  await worldOf(before, 'checkout').control('POST', 'clock', { advanceSeconds: 86_400 });
  await before.close();
  assert.deepEqual((await journals(dataDir)).sort(), [
    '+c+i_run-7.jsonl',
    '+checkout.jsonl',
    'checkout.jsonl',
  ]);

  const { sandbox, stripe } = await useSandbox(t, { dataDir });
  for (const name of ['checkout', 'Checkout', 'CI_run-7']) {
    const { data } = await worldOf(sandbox, name).stripe.customers.list();
    assert.deepEqual(
      data.map((customer) => customer.name),
      [name],
    );
  }
  const clock = await worldOf(sandbox, 'checkout').control('GET', 'clock');
  assert.ok((clock.body as { offsetSeconds: number }).offsetSeconds >= 86_399);
  assert.deepEqual((await stripe.customers.list()).data, []);
});

test('a removed world frees its space, and stays removed after a restart', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox({ port: 0, dataDir });
  const [red, blue] = [worldOf(before, 'red'), worldOf(before, 'blue')];
  await Promise.all([red.stripe.customers.create({}), blue.stripe.customers.create({})]);
  await red.control('DELETE', 'world');
  assert.deepEqual(await journals(dataDir), ['blue.jsonl']);
  // A new world under the same name starts a new file.
  await red.stripe.customers.create({ name: 'new' });
  await before.close();

  const { sandbox } = await useSandbox(t, { dataDir });
  const { data } = await worldOf(sandbox, 'red').stripe.customers.list();
  assert.deepEqual(
    data.map(({ name }) => name),
    ['new'],
  );
  // Removing a world works before anything has used it.
  assert.deepEqual((await worldOf(sandbox, 'blue').control('DELETE', 'world')).body, {
    world: 'blue',
    removed: true,
  });
  assert.deepEqual(await journals(dataDir), ['red.jsonl']);
});

test('reading a world that has nothing in it creates no file', async (t) => {
  const dataDir = await temporaryFolder(t);
  const { sandbox } = await useSandbox(t, { dataDir });
  await worldOf(sandbox, 'empty').stripe.customers.list();
  assert.deepEqual(await journals(dataDir), []);
});

test('the webhooks and renewals of a world continue after a restart, although no request names it', async (t) => {
  const dataDir = await temporaryFolder(t);
  const receiver = await useReceiver(t);
  const before = await startSandbox({ port: 0, dataDir });
  const red = worldOf(before, 'red');
  await red.stripe.webhookEndpoints.create({ url: receiver.url, enabled_events: ['customer.created'] });
  receiver.refuses = () => true;
  const customer = await red.stripe.customers.create({});
  await receiver.first(1);
  await before.close();
  receiver.refuses = () => false;
  await useSandbox(t, { dataDir });
  const [, again] = await receiver.first(2);
  assert.deepEqual(again?.event.data.object, customer);
});

test('a damaged journal of one world does not affect the others', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox({ port: 0, dataDir });
  await worldOf(before, 'good').stripe.customers.create({});
  await worldOf(before, 'bad').stripe.customers.create({});
  await before.close();
  await appendFile(join(dataDir, 'sandbox', 'worlds', 'bad.jsonl'), 'not JSON\n');
  const logged: string[] = [];
  const { sandbox } = await useSandbox(t, {
    dataDir,
    log: (level, fields, message) => {
      if (level === 'error') logged.push(`${message} ${'error' in fields ? String(fields.error) : ''}`);
    },
  });
  assert.equal((await worldOf(sandbox, 'good').stripe.customers.list()).data.length, 1);
  await assert.rejects(worldOf(sandbox, 'bad').stripe.customers.list(), { statusCode: 500 });
  assert.match(logged.join('\n'), /bad\.jsonl is damaged at line 2/);
});

const worldCount = effort({ short: 300, long: 1_000 });
/** Enough requests at a time to keep both sides busy. */
const atOnce = 20;
/** Twice what a world with one customer takes, with its indexes and the event. */
const kilobytesMax = 35;

test('hundreds of worlds fit; while idle they hold no timer, no file and little memory', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox({ port: 0, dataDir });
  await inEach(before, 'POST');
  await before.close();

  const timersBefore = timers();
  const bytesBefore = heapUsedBytes();
  const { sandbox } = await useSandbox(t, { dataDir });
  const lists = await inEach(sandbox, 'GET');
  assert.ok(lists.every((list) => list.includes('kept@example.com')));
  const kilobytes = (heapUsedBytes() - bytesBefore) / worldCount / 1_000;
  t.diagnostic(`${kilobytes.toFixed(1)} kB of heap for each world`);
  assert.ok(kilobytes < kilobytesMax, `${kilobytes} kB for each world`);
  assert.deepEqual(openFiles(dataDir), []);
  assert.ok(timers() - timersBefore < atOnce, `${timersBefore} timers, then ${timers()}`);
});

/** Creates or lists customers in each world. Returns the responses. */
async function inEach(sandbox: Sandbox, method: 'GET' | 'POST'): Promise<string[]> {
  const responses: string[] = [];
  for (let start = 0; start < worldCount; start += atOnce)
    await Promise.all(
      Array.from({ length: atOnce }, async (_, index) => {
        const response = await fetch(`${sandbox.url}/v1/customers`, {
          method,
          headers: { authorization: `Bearer sk_test_world_w${start + index}` },
          ...(method === 'GET' ? {} : { body: 'email=kept@example.com' }),
        });
        assert.equal(response.status, 200);
        responses.push(await response.text());
      }),
    );
  return responses;
}

/** The files below a folder that this process has open. */
function openFiles(folder: string): string[] {
  return readdirSync('/proc/self/fd')
    .map((descriptor) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`);
      } catch {
        // The descriptor that read the folder is closed by now.
        return '';
      }
    })
    .filter((path) => path.startsWith(folder));
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}
