import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startSandbox } from '../sandbox.ts';
import {
  clientOf,
  customerAndPrice,
  eventTypes,
  incompleteSubscription,
  useReceiver,
  useSandbox,
} from './support.ts';

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'till-sandbox-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test('a restart keeps objects, events, remembered responses, the clock and the schedule', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox({ port: 0, dataDir });
  const first = clientOf(before.port);
  const { customer, price } = await customerAndPrice(first);
  const { subscription, intentId } = await incompleteSubscription(first, customer.id, price.id);
  await first.paymentIntents.confirm(intentId, { payment_method: 'pm_card_visa' });
  const intent = await first.paymentIntents.create(
    { amount: 900, currency: 'eur' },
    { idempotencyKey: 'kept' },
  );
  await fetch(`${before.url}/sandbox/clock`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ advanceSeconds: 20 * 86_400 }),
  });
  const events = await eventTypes(first);
  await before.close();

  const { stripe, advance } = await useSandbox(t, { dataDir });
  assert.deepEqual(await stripe.paymentIntents.retrieve(intent.id), intent);
  assert.deepEqual(await eventTypes(stripe), events);
  const again = await stripe.paymentIntents.create(
    { amount: 900, currency: 'eur' },
    { idempotencyKey: 'kept' },
  );
  assert.equal(again.id, intent.id);
  const created = await stripe.customers.create({});
  assert.ok(created.created >= subscription.created + 20 * 86_400);
  await advance(12 * 86_400);
  assert.equal((await stripe.invoices.list({ subscription: subscription.id })).data.length, 2);
});

test('what fell due while the sandbox was down happens at its own time when it is back', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox({ port: 0, dataDir });
  const first = clientOf(before.port);
  const { customer, price } = await customerAndPrice(first, { interval: 'day' });
  const { subscription, intentId } = await incompleteSubscription(first, customer.id, price.id);
  await first.paymentIntents.confirm(intentId, { payment_method: 'pm_card_visa' });
  await before.close();
  // Three days and a half of downtime: the journal is told that its clock ran on meanwhile.
  const path = join(dataDir, 'sandbox', 'journal.jsonl');
  const settings = { deliveryMode: 'normal', afterDunning: 'cancel' };
  await appendFile(path, `${JSON.stringify({ at: Date.now(), s: settings, o: 3.5 * 86_400 })}\n`);

  const { stripe } = await useSandbox(t, { dataDir });
  const invoices = await stripe.invoices.list({ subscription: subscription.id });
  assert.deepEqual(
    invoices.data.map(({ created, status }) => [(created - subscription.created) / 86_400, status]),
    [3, 2, 1, 0].map((days) => [days, 'paid']),
  );
});

test('a journal full of what is obsolete is rewritten at the start, and means the same', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox({ port: 0, dataDir });
  const customer = await clientOf(before.port).customers.create({ name: 'kept' });
  await before.close();
  const path = join(dataDir, 'sandbox', 'journal.jsonl');
  const note = `${JSON.stringify({ at: Date.now(), n: ['evt_gone', 'we_builtin', 'delivered'] })}\n`;
  await appendFile(path, note.repeat(11_000));
  const between = await startSandbox({ port: 0, dataDir });
  await between.close();
  assert.ok((await readFile(path, 'utf8')).split('\n').length < 10);
  const { stripe } = await useSandbox(t, { dataDir });
  assert.deepEqual(await stripe.customers.retrieve(customer.id), customer);
  assert.deepEqual(await eventTypes(stripe), ['customer.created']);
});

test('a port that is taken is an error, and closing twice is not', async (t) => {
  const dataDir = await temporaryFolder(t);
  const first = await startSandbox({ port: 0 });
  await assert.rejects(startSandbox({ port: first.port, dataDir }), { code: 'EADDRINUSE' });
  await Promise.all([first.close(), first.close()]);
});

test('a torn last line is dropped, and the sandbox goes on after it', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox({ port: 0, dataDir });
  const customer = await clientOf(before.port).customers.create({ name: 'whole' });
  await before.close();
  const path = join(dataDir, 'sandbox', 'journal.jsonl');
  await appendFile(path, '{"at":1,"v":[{"id":"cus_torn"');
  const between = await startSandbox({ port: 0, dataDir });
  await clientOf(between.port).customers.create({ name: 'after' });
  await between.close();
  const { stripe } = await useSandbox(t, { dataDir });
  assert.deepEqual(
    (await stripe.customers.list()).data.map(({ name }) => name),
    ['after', 'whole'],
  );
  assert.equal((await stripe.customers.retrieve(customer.id)).id, customer.id);
});

test('a damaged line in the middle is an error that names the file and the line', async (t) => {
  const dataDir = await temporaryFolder(t);
  const before = await startSandbox({ port: 0, dataDir });
  await before.close();
  await appendFile(join(dataDir, 'sandbox', 'journal.jsonl'), 'not an entry\n');
  await assert.rejects(startSandbox({ port: 0, dataDir }), /journal\.jsonl is damaged at line 1/);
});

test('what was acknowledged survives kill -9', async (t) => {
  const dataDir = await temporaryFolder(t);
  const main = new URL('../main.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [main], {
    env: { ...process.env, SANDBOX_PORT: '0', DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const [line] = await once(child.stdout, 'data');
  const port = Number(/:(\d+)\./.exec(String(line))?.[1]);
  const client = clientOf(port);
  const acknowledged = new Set<string>();
  const exited = once(child, 'exit');
  const workers = Array.from({ length: 8 }, async () => {
    for (;;) {
      const customer = await client.customers.create({}).catch(() => null);
      if (customer === null) return;
      acknowledged.add(customer.id);
      if (acknowledged.size === 200) child.kill('SIGKILL');
    }
  });
  await Promise.all([exited, ...workers]);

  const { stripe } = await useSandbox(t, { dataDir });
  const kept = new Set<string>();
  for await (const { id } of stripe.customers.list({ limit: 100 })) kept.add(id);
  assert.ok(acknowledged.size >= 200);
  assert.deepEqual(
    [...acknowledged].filter((id) => !kept.has(id)),
    [],
  );
});

test('undelivered webhooks are delivered after a restart', async (t) => {
  const dataDir = await temporaryFolder(t);
  const receiver = await useReceiver(t);
  const webhook = { url: receiver.url, secret: 'whsec_x' };
  const before = await startSandbox({ port: 0, dataDir, webhook });
  await fetch(`${before.url}/sandbox/delivery`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"mode":"paused"}',
  });
  await clientOf(before.port).customers.create({});
  await before.close();
  assert.equal(receiver.received.length, 0);
  const { control, stripe } = await useSandbox(t, { dataDir, webhook });
  await control('POST', 'delivery', { mode: 'normal' });
  await receiver.first(1);
  await control('POST', 'delivery/flush');
  assert.equal((await stripe.events.list()).data[0]?.pending_webhooks, 0);
});

test('a reset empties the journal too', async (t) => {
  const dataDir = await temporaryFolder(t);
  const { stripe, control } = await useSandbox(t, { dataDir });
  await stripe.customers.create({});
  const { body } = await control('POST', 'reset');
  const { lastResetMs } = body as { lastResetMs: number };
  const lines = (await readFile(join(dataDir, 'sandbox', 'journal.jsonl'), 'utf8')).trimEnd().split('\n');
  assert.equal(lines.length, 1, 'only the settings are left');
  assert.equal(JSON.parse(lines[0] ?? '').s.lastResetMs, lastResetMs);
  await stripe.customers.create({ name: 'new' });
  assert.match(await readFile(join(dataDir, 'sandbox', 'journal.jsonl'), 'utf8'), /"name":"new"/);
});
