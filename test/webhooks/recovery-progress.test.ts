import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Lifetime, startBackend } from '../support/backend.ts';
import { createPaidPayment, readPayment } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { backendEnvironment } from '../support/till-in-child.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { until } from '../support/until.ts';
import { startWholeTill } from '../support/whole-till.ts';

/** The events of so many objects and of one payment fill this number of pages. */
const othersOfPages = { 2: 110, 3: 230 } as const;

const listingsFail = { operation: 'events.list', kind: 'error', status: 503, times: 100 };
const listingPasses = { operation: 'events.list', kind: 'latency', latencyMs: 1 };
const listingHangs = { operation: 'events.list', kind: 'hang' } as const;

/** Till on a processor whose webhooks never arrive. */
async function startDeaf(life: Lifetime): Promise<TillInProcess> {
  const till = await startTill({ in: 'process', for: life });
  await till.control('delivery', { mode: 'drop' });
  return till;
}

/** Pages of events of the types that are listed first, the oldest of which says that this payment succeeded. */
async function missPages(till: TillInProcess, pages: keyof typeof othersOfPages) {
  const payment = await createPaidPayment(till);
  await Promise.all(
    Array.from({ length: othersOfPages[pages] }, () =>
      till.stripe.paymentIntents.create({ amount: 700, currency: 'eur' }),
    ),
  );
  return payment;
}

/** One run that reads one page and fails at the next. */
async function readOnePage(till: TillInProcess): Promise<void> {
  await till.control('faults', listingPasses);
  await till.control('faults', listingsFail);
  await assert.rejects(till.services.recovery.run(), { code: 'processor_unavailable' });
  await till.control('faults', {}, 'DELETE');
}

describe('a listing of events that fails', () => {
  test('continues with the page that failed, and leaves the position where it was until all pages have been read', async (t) => {
    const till = await startDeaf(t);
    await till.sql(`update till.recovery set read_until = now() - interval '1 hour'`);
    const position = () =>
      till.sql(`select read_until, run from till.recovery, till.jobs where name = 'recovery'`);
    const before = await position();
    const payment = await missPages(till, 3);
    // Three pages of the first types, and one of the others that is read together with a new listing.
    for (let page = 1; page <= 3; page += 1) {
      await readOnePage(till);
      assert.deepEqual(await position(), before);
    }
    await till.drain();
    assert.equal(
      (await readPayment(till, payment)).status,
      'succeeded',
      'although each run read a single page',
    );
    await till.services.recovery.run();
    assert.notDeepEqual(await position(), before);
  });

  test('covers what happens before it is continued', async (t) => {
    const till = await startDeaf(t);
    await missPages(till, 2);
    await readOnePage(till);
    const late = await createPaidPayment(till);
    await till.services.recovery.run();
    await till.drain();
    assert.equal((await readPayment(till, late)).status, 'succeeded');
  });

  test('starts over if the processor no longer knows where it stopped', async (t) => {
    const till = await startDeaf(t);
    const payment = await missPages(till, 2);
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
  const payment = await createPaidPayment(till);
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
    await till.sql(
      `update till.jobs set leased_until = now() + interval '10 seconds' where name = 'recovery'`,
    );
    await until(async () => {
      const [row] = await till.sql<{ is_renewed: boolean }>(
        `select leased_until > now() + interval '30 seconds' as is_renewed from till.jobs where name = 'recovery'`,
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
    await till.sql(`update till.jobs set run = 1 where name = 'recovery'`);
    await till.control('faults', {}, 'DELETE');
    await assert.rejects(run, { message: 'another run took over the recovery' });
    assert.deepEqual(
      await till.sql(`select run, read_until from till.recovery, till.jobs where name = 'recovery'`),
      [{ run: 1, read_until: null }],
    );
  });
});

test('a process that is killed during recovery is replaced at once: the next start applies what was missed', async (t) => {
  const backend = await startBackend(t);
  await backend.setFault({ ...listingHangs, times: 100 });
  const first = await startTill({ in: 'child', on: backend });
  const payment = await createPaidPayment({ ...first, stripe: backend.stripe });
  // Its recovery holds the lease while it waits for the processor.
  const leases = "select from till.jobs where name = 'recovery' and leased_until > now()";
  await until(async () => (await backend.sql(leases)).length === 1);
  await first.stop('SIGKILL');
  await backend.clearFaults();

  const second = await startWholeTill(backendEnvironment(backend));
  backend.atEnd(() => second.stop());
  await second.logged('stale recovery lease taken over');
  await second.logged('missed events found');
  await until(async () => (await readPayment(second, payment)).status === 'succeeded');
});
