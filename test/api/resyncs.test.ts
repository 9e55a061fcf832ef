import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, test } from 'node:test';
import { confirmIntent, createCustomer, createPayment, readPayment } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';

interface ResyncBody {
  readonly id: string;
  readonly customerId: string | null;
  readonly status: string;
  readonly progress: readonly {
    readonly resource: string;
    readonly compared: number;
    readonly corrected: number;
  }[];
  readonly skipped: readonly unknown[];
  readonly skippedCount: number;
  readonly error: string | null;
  readonly endedAt: string | null;
}

const path = '/resyncs';
const till = await startTill({ in: 'process', for: { after } });

afterEach(() => till.clearFaults());

async function start(body?: object): Promise<ResyncBody> {
  const response = await till.call('POST', path, body);
  assert.equal(response.status, 202);
  return (await response.json()) as ResyncBody; // Its fields are what the tests look at.
}

async function ended({ id }: ResyncBody): Promise<ResyncBody> {
  const read = () => till.get<ResyncBody>(`${path}/${id}`);
  await until(async () => (await read()).status !== 'running', 'the resync did not end');
  return read();
}

/** A payment that was paid without a webhook. */
async function payUnheard(customerId: string) {
  const payment = await createPayment(till, { customerId });
  await confirmIntent(till, payment.processorPaymentIntentId);
  return payment;
}

test('a resync corrects what no webhook reported, and shows what it compared', async () => {
  const customer = await createCustomer(till);
  const payment = await payUnheard(customer.id);
  const resync = await ended(await start());
  assert.deepEqual([resync.status, resync.error, resync.skippedCount], ['finished', null, 0]);
  assert.notEqual(resync.endedAt, null);
  const payments = resync.progress.find(({ resource }) => resource === 'payment');
  assert.deepEqual([payments?.compared, payments?.corrected], [1, 1]);
  assert.equal((await readPayment(till, payment)).status, 'succeeded');
  const { data } = await till.get<{ data: readonly ResyncBody[] }>(path);
  assert.equal(data[0]?.id, resync.id);
});

test('a resync of one customer leaves the others alone', async () => {
  const [one, other] = [await createCustomer(till), await createCustomer(till)];
  const [payment, untouched] = [await payUnheard(one.id), await payUnheard(other.id)];
  const resync = await ended(await start({ customerId: one.id }));
  assert.deepEqual([resync.status, resync.customerId], ['finished', one.id]);
  assert.equal((await readPayment(till, payment)).status, 'succeeded');
  assert.equal((await readPayment(till, untouched)).status, 'requires_payment_method');
});

test('only one runs at a time', async () => {
  await till.setFault({ operation: 'customers.list', kind: 'hang', times: 1 });
  const first = await start();
  await till.faultsTaken();
  await readProblem(await till.call('POST', path), 409, 'resync_running');
  await till.clearFaults();
  assert.equal((await ended(first)).status, 'finished');
  assert.equal((await ended(await start())).status, 'finished');
});

test('if the processor is down, it fails and says why', async () => {
  await till.setFault({ operation: 'customers.list', kind: 'error', status: 503, times: 10 });
  const resync = await ended(await start());
  assert.equal(resync.status, 'failed');
  assert.match(resync.error ?? '', /processor/);
});

test('the resync of a process that is gone is stopped, and another one can start', async () => {
  const id = randomUUID();
  await till.sql(`insert into till.resyncs (id, status, started_at) values ($1, 'running', now())`, [id]);
  await till.sql(`update till.jobs set run = 7, owner_lock = 7, leased_until = now() + interval '1 minute',
    history = till.history() where name = 'resync'`);
  assert.equal((await till.get<ResyncBody>(`${path}/${id}`)).status, 'stopped');
  assert.equal((await ended(await start())).status, 'finished');
});

test('a resync whose end could not be recorded is stopped, and another one can start', async () => {
  await till.sql('alter table till.resyncs add constraint unending check (ended_at is null) not valid');
  const resync = await start();
  const isLogged = () => till.lines.some(({ msg }) => msg === 'end of resync not recorded');
  await until(isLogged);
  await till.sql('alter table till.resyncs drop constraint unending');
  const next = await start();
  assert.equal((await ended(resync)).status, 'stopped');
  assert.equal((await ended(next)).status, 'finished');
});

test('a resync stops with its process', async (t) => {
  const second = await startTill({ in: 'process', on: till });
  await till.setFault({ operation: 'customers.list', kind: 'hang', times: 1 });
  const response = await second.call('POST', path);
  assert.equal(response.status, 202);
  const resync = (await response.json()) as ResyncBody; // As above.
  await till.faultsTaken();
  const stopped = second.stop();
  t.after(() => stopped);
  await till.clearFaults();
  await stopped;
  assert.equal((await ended(resync)).status, 'stopped');
});

test('a resync that is stopped refreshes no other object', async () => {
  const customer = await createCustomer(till);
  for (let payments = 0; payments < 2; payments += 1) await createPayment(till, { customerId: customer.id });
  const second = await startTill({ in: 'process', on: till });
  await till.setFault({ operation: 'refunds.list', kind: 'hang', times: 1 });
  const response = await second.call('POST', path, { customerId: customer.id });
  assert.equal(response.status, 202);
  const resync = (await response.json()) as ResyncBody; // As above.
  await till.faultsTaken();
  const stopped = second.services.resyncRuns.stop();
  await till.clearFaults();
  await stopped;
  assert.equal((await till.get<ResyncBody>(`${path}/${resync.id}`)).status, 'stopped');
});

test('an unknown customer is a 404', async () => {
  await readProblem(await till.call('POST', path, { customerId: randomUUID() }), 404, 'not_found');
});
