import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import { Stripe } from 'stripe';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { startTillProcess, testKey } from '../support/till-process.ts';
import { type CustomerAnswer, newPaidPayment, type PaymentAnswer, readPayment } from './shop.ts';
import { type Lifetime, startWebhookTill, type WebhookTill } from './webhook-till.ts';

/** More looks than anything here needs; each is a round trip to the database or the service. */
const looksMax = 100_000;
/** Three pages of events. */
const renames = 230;

const listingsFail = { operation: 'events.list', kind: 'error', status: 503, times: 100 };
const listingPasses = { operation: 'events.list', kind: 'latency', latencyMs: 1 };
const listingHangs = { operation: 'events.list', kind: 'hang' };

/** Till on a processor whose webhooks never arrive. */
async function startDeaf(life: Lifetime): Promise<WebhookTill> {
  const till = await startWebhookTill(life);
  await till.control('delivery', { mode: 'drop' });
  return till;
}

/** Pages of events, the oldest of which says that this payment succeeded. */
async function missPages(till: WebhookTill) {
  const payment = await newPaidPayment(till);
  const { processorCustomerId } = await till.get<CustomerAnswer>(`/customers/${payment.customerId}`);
  await Promise.all(
    Array.from({ length: renames }, (_, index) =>
      till.stripe.customers.update(processorCustomerId, { name: `Ada ${index}` }),
    ),
  );
  return payment;
}

/** One run that reads one page and fails at the next. */
async function readOnePage(till: WebhookTill): Promise<void> {
  await till.control('faults', listingPasses);
  await till.control('faults', listingsFail);
  await assert.rejects(till.services.recovery.run(), { code: 'processor_unavailable' });
  await till.control('faults', {}, 'DELETE');
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let look = 0; look < looksMax; look += 1) if (await isSo()) return;
  assert.fail('it did not happen');
}

describe('a listing of events that fails', () => {
  test('continues with the page that failed, so that it ends although every run reads a single page', async (t) => {
    const till = await startDeaf(t);
    const payment = await missPages(till);
    // Three pages of the first types, and one of the others that is read together with a new listing.
    for (let page = 1; page <= 3; page += 1) await readOnePage(till);
    await till.drain();
    assert.equal((await readPayment(till, payment)).status, 'succeeded');
  });

  test('leaves the position where it was until all of its pages have been read', async (t) => {
    const till = await startDeaf(t);
    await till.sql(`update till.recovery set read_until = now() - interval '1 hour'`);
    const position = () => till.sql('select read_until, owner from till.recovery');
    const before = await position();
    await missPages(till);
    for (let page = 1; page <= 3; page += 1) {
      await readOnePage(till);
      assert.deepEqual(await position(), before);
    }
    await till.services.recovery.run();
    assert.notDeepEqual(await position(), before);
  });

  test('covers what happens before it is continued', async (t) => {
    const till = await startDeaf(t);
    await missPages(till);
    await readOnePage(till);
    const late = await newPaidPayment(till);
    await till.services.recovery.run();
    await till.drain();
    assert.equal((await readPayment(till, late)).status, 'succeeded');
  });

  test('starts over if the processor no longer knows where it stopped', async (t) => {
    const till = await startDeaf(t);
    const payment = await missPages(till);
    await readOnePage(till);
    await till.sql(
      `update till.recovery set listing_cursor = regexp_replace(listing_cursor, 'evt_.*', 'evt_gone')`,
    );
    await till.services.recovery.run();
    await till.drain();
    assert.equal((await readPayment(till, payment)).status, 'succeeded');
    assert.ok(till.lines.some(({ msg }) => msg === 'unfinished event listing restarted'));
  });
});

test('a position in the future, written by a clock that ran ahead, hides no events', async (t) => {
  const till = await startDeaf(t);
  const payment = await newPaidPayment(till);
  await till.sql(`update till.recovery set read_until = now() + interval '1 day'`);
  await till.services.recovery.run();
  await till.drain();
  assert.equal((await readPayment(till, payment)).status, 'succeeded');
  const [row] = await till.sql<{ is_past: boolean }>(
    'select read_until <= now() as is_past from till.recovery',
  );
  assert.equal(row?.is_past, true);
});

describe('the lease of a run', () => {
  test('is renewed while a single call takes long', async (t) => {
    const till = await startDeaf(t);
    await till.control('faults', listingHangs);
    const run = till.services.recovery.run();
    await till.faultsTaken();
    await till.sql(`update till.recovery set leased_until = now() + interval '10 seconds'`);
    await until(async () => {
      const [row] = await till.sql<{ is_renewed: boolean }>(
        `select leased_until > now() + interval '30 seconds' as is_renewed from till.recovery`,
      );
      return row?.is_renewed === true;
    });
    const ended = await till.count('processor_request_duration_seconds', { operation: 'events.list' });
    assert.equal(ended, 0, 'the call has not ended yet');
    await till.control('faults', {}, 'DELETE');
    assert.equal(await run, true);
  });

  test('ends the run once another has taken it', async (t) => {
    const till = await startDeaf(t);
    await till.control('faults', listingHangs);
    const run = till.services.recovery.run();
    await till.faultsTaken();
    await till.sql('update till.recovery set owner = 1');
    await till.control('faults', {}, 'DELETE');
    await assert.rejects(run, { message: 'another run took over the recovery' });
    assert.deepEqual(await till.sql('select owner, read_until from till.recovery'), [
      { owner: 1, read_until: null },
    ]);
  });
});

test('a process that is killed during recovery is replaced at once: the next start applies what was missed', async () => {
  const database = await createTestDatabase();
  after(() => database.drop());
  const sandbox = await startSandbox({ port: 0 });
  after(() => sandbox.close());
  const control = async (method: string, path: string, body: object = {}) => {
    const response = await fetch(`${sandbox.url}/sandbox/${path}`, { method, body: JSON.stringify(body) });
    assert.equal(response.status, 200);
  };
  const start = () =>
    startTillProcess({
      API_KEYS: testKey,
      DATABASE_URL: database.url,
      PROCESSOR_SECRET_KEY: 'sk_test_recovery',
      PROCESSOR_API_BASE: sandbox.url,
      PROCESSOR_WEBHOOK_SECRET: 'whsec_recovery',
    });
  const call = async <Answer>(url: string, path: string, body?: object) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'x-api-key': testKey, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok);
    return (await response.json()) as Answer; // The caller names what it reads of it.
  };

  await control('POST', 'faults', { ...listingHangs, times: 100 });
  const first = await start();
  after(() => first.stop('SIGKILL'));
  const { id: customerId } = await call<{ id: string }>(first.url, '/customers', {
    email: 'ada@example.com',
  });
  const order = { customerId, amount: 2_000, currency: 'eur' };
  const { payment } = await call<{ payment: PaymentAnswer }>(first.url, '/payments', order);
  const stripe = new Stripe('sk_test_dashboard', { host: '127.0.0.1', port: sandbox.port, protocol: 'http' });
  await stripe.paymentIntents.confirm(payment.processorPaymentIntentId, {
    payment_method: 'pm_card_visa',
    return_url: 'https://example.com',
  });
  // Its recovery holds the lease while it waits for the processor.
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const leases = 'select from till.recovery where owner is not null and leased_until > now()';
  await until(async () => (await client.query(leases)).rowCount === 1);
  await client.end();
  await first.stop('SIGKILL');
  await control('DELETE', 'faults');

  const second = await start();
  after(() => second.stop());
  await second.logged('stale recovery lease taken over');
  await second.logged('missed events found');
  await until(
    async () => (await call<PaymentAnswer>(second.url, `/payments/${payment.id}`)).status === 'succeeded',
  );
});
