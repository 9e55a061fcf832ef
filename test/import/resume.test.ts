import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KindCounts } from '#operators/import/import-progress.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { makeForeignAccount } from '../support/foreign-account.ts';
import { allAdopted, runImport, shortCounts } from '../support/imports.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { startTill } from '../support/till.ts';
import { type TillInProcess, triesPerCall } from '../support/till-in-process.ts';

/** The run has ended like its process, and left what it has committed. */
class Killed extends Error {}

interface KilledRun {
  /** What it said it continues. */
  readonly resumed: readonly object[];
  /** Undefined if it was killed. */
  readonly counts?: object;
}

/** Runs an import that is killed after so many pages. */
async function runUntilKilled(till: TillInProcess, pages: number): Promise<KilledRun> {
  const resumed: object[] = [];
  let left = pages;
  const onProgress = () => {
    left -= 1;
    if (left === 0) throw new Killed();
  };
  const onResumed = (_: Date, counts: readonly KindCounts[]) => resumed.push(shortCounts(counts));
  try {
    const { counts } = await runImport(till, { externalIdFrom: 'user' }, { onProgress, onResumed });
    return { counts, resumed };
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
    return { resumed };
  }
}

/** More than one page of customers. */
const customerCount = 150;

async function makeCustomers({ control }: Pick<Backend, 'control'>): Promise<void> {
  const customers = Array.from({ length: customerCount }, (_, index) => ({ email: `${index}@example.com` }));
  await control('fixtures', { customers });
}

const everything = {
  plan: allAdopted(2),
  customer: allAdopted(customerCount + 2),
  external_id: allAdopted(2),
  subscription: allAdopted(3),
  invoice: allAdopted(4),
  payment: allAdopted(7),
  refund: allAdopted(1),
  dispute: allAdopted(1),
};

describe('an import that was interrupted', () => {
  test('continues after any page, says so, and counts everything once', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    await makeForeignAccount(till);
    await makeCustomers(till);
    const runs: KilledRun[] = [];
    while (runs.at(-1)?.counts === undefined) {
      assert.ok(runs.length < 20, 'the import does not end');
      runs.push(await runUntilKilled(till, 1));
    }
    // One page for each list, but two for the customers. The charges and the external ids have lists of their own.
    assert.equal(runs.length, 11);
    assert.deepEqual(runs[0]?.resumed, []);
    assert.deepEqual(runs[2]?.resumed, [{ plan: allAdopted(2), customer: allAdopted(100) }]);
    assert.deepEqual(runs.at(-1)?.counts, everything);
    assert.deepEqual((await runUntilKilled(till, 0)).resumed, []);
  });

  test('continues after a failure between the rows of a page and its progress, at any page', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    await makeForeignAccount(till);
    await till.sql(`create function public.refuse() returns trigger language plpgsql as $$ begin
      if exists (select from public.refused where count = 0) then raise 'refused'; end if;
      update public.refused set count = count - 1; return new; end $$`);
    await till.sql('create table public.refused (count integer)');
    await till.sql(`create trigger refuse before update on till.imports for each row
      when (old.progress is distinct from new.progress) execute function public.refuse()`);
    let isFinished = false;
    for (let saved = 0; !isFinished; saved += 1) {
      assert.ok(saved < 20, 'the import does not end');
      await till.sql('truncate public.refused');
      await till.sql('insert into public.refused values (1)');
      isFinished = await runImport(till).then(
        () => true,
        (error: Error) => {
          assert.match(error.message, /refused/);
          return false;
        },
      );
    }
    await till.sql('drop trigger refuse on till.imports');
    const { counts } = await runImport(till);
    assert.deepEqual(
      Object.values(counts).map((kind) => 'adopted' in kind || 'updated' in kind),
      Object.keys(counts).map(() => false),
    );
  });

  test('starts a list over if the object where it continues is gone, and waits for a processor that fails', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    await makeCustomers(till);
    await runUntilKilled(till, 2);
    await till.sql(
      `update till.imports set progress = regexp_replace(progress::text, '"cus_\\w+"', '"cus_gone"')::jsonb`,
    );
    await till.setFault({ operation: 'invoices.list', kind: 'error', status: 429, times: triesPerCall });
    const { counts, resumed } = await runUntilKilled(till, 0);
    assert.deepEqual(resumed, [{ plan: {}, customer: allAdopted(100) }]);
    assert.partialDeepStrictEqual(counts, { customer: allAdopted(customerCount) });
    const messages = till.lines.map(({ msg }) => msg);
    assert.ok(messages.includes('list of an import restarted') && messages.includes('import paused'));
  });

  test('starts over with other options', async (t) => {
    const backend = await startBackend(t);
    await makeCustomers(backend);
    const killed = await startTill({ in: 'process', on: backend });
    await runUntilKilled(killed, 2);
    await killed.stop();
    const till = await startTill({ in: 'process', on: backend });
    const replaced: Date[] = [];
    const { counts } = await runImport(till, {}, { onReplaced: (startedAt) => replaced.push(startedAt) });
    assert.equal(replaced.length, 1);
    assert.deepEqual(counts['customer'], { found: customerCount, adopted: 50, unchanged: 100 });
  });
});

test('one import runs at a time, and stops at a signal', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const [first, second] = [
    await startTill({ in: 'process', on: backend, processorUrl: proxy.url }),
    await startTill({ in: 'process', on: backend }),
  ];
  await makeCustomers(backend);
  proxy.hold('/v1/customers', 'GET');
  const stop = new AbortController();
  const running = runImport(first, { signal: stop.signal });
  const held = await proxy.nextHeld();
  await assert.rejects(runImport(second), /^Error: another process runs an import since 2/);
  await assert.rejects(runImport(first), /another process runs an import/);
  // A dry run stores nothing, so it can run at the same time.
  await runImport(second, { isDryRun: true });
  stop.abort(new Error('stopped'));
  held.release();
  await assert.rejects(running, /stopped/);
  proxy.releaseAll();
  await first.stop();
  assert.deepEqual((await runImport(second)).counts['customer'], allAdopted(customerCount));
});

test('an import continues with what is stored after the database was restarted or restored', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  await makeCustomers(backend);
  proxy.hold('/v1/customers', 'GET');
  const resumed: object[] = [];
  const onResumed = (_: Date, counts: readonly KindCounts[]) => resumed.push(shortCounts(counts));
  const running = runImport(till, {}, { onResumed });
  await proxy.nextHeld();
  await backend.sql('select till.break_history()');
  proxy.releaseAll();
  assert.deepEqual((await running).counts['customer'], allAdopted(customerCount));
  assert.deepEqual(resumed, [{ plan: {} }]);
});

for (const failure of ['a kill', 'an outage'])
  test(`a customer that is deleted while its page is read is deleted, even after ${failure} between the commit and its events`, async (t) => {
    const backend = await startBackend(t);
    const proxy = await startProcessorProxy(backend);
    const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
    const { id } = await backend.stripe.customers.create({ email: 'ada@example.com' });
    proxy.holdOne('/v1/customers', 'GET');
    const running = runImport(till);
    const respond = await (await proxy.nextHeld()).holdResponse();
    await backend.stripe.customers.del(id);
    await till.settle();
    // The next update of events is that of the import. Only an outage makes it repeat its work.
    const code = failure === 'a kill' ? 'P0001' : '57P01';
    await till.sql('create sequence public.attempts');
    await till.sql(`create function public.fail() returns trigger language plpgsql as $$ begin
      if nextval('public.attempts') = 1 then raise 'failed' using errcode = '${code}'; end if;
      return null; end $$`);
    await till.sql(`create trigger fail before update on till.webhook_events
      for each statement execute function public.fail()`);
    respond();
    if (failure === 'a kill') {
      await assert.rejects(running, /failed/);
      await runImport(till, { externalIdFrom: 'user' });
    } else await running;
    await till.settle();
    const rows = await till.sql('select email, deleted_at is not null as deleted from till.customers');
    assert.deepEqual(rows, [{ email: null, deleted: true }]);
  });
