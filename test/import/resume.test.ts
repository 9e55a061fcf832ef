import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KindCounts } from '../../src/sync/import/import-progress.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { makeForeignAccount } from '../support/foreign-account.ts';
import { allAdopted, runImport, shortCounts } from '../support/imports.ts';
import { startTill } from '../support/till.ts';

/** The process has gone, and left what it has committed. */
class Killed extends Error {}

/** Runs an import in a process of its own, which is killed after so many pages. */
async function runUntilKilled(backend: Backend, pages: number) {
  const till = await startTill({ in: 'process', on: backend });
  const resumed: object[] = [];
  let left = pages;
  const onProgress = () => {
    left -= 1;
    if (left === 0) throw new Killed();
  };
  const onResumed = (_: Date, counts: readonly KindCounts[]) => resumed.push(shortCounts(counts));
  try {
    return { ...(await runImport(till, { externalIdFrom: 'user' }, { onProgress, onResumed })), resumed };
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
    return { resumed };
  } finally {
    await till.stop();
  }
}

/** More than one page of customers. */
const customerCount = 150;

async function makeCustomers({ control }: Backend): Promise<void> {
  const customers = Array.from({ length: customerCount }, (_, index) => ({ email: `${index}@example.com` }));
  await control('fixtures', { customers });
}

describe('an import that was interrupted', () => {
  test('continues, whatever list it was at, and counts everything once', async (t) => {
    const backend = await startBackend(t);
    await makeForeignAccount(backend);
    await makeCustomers(backend);
    const runs = [];
    for (let run = 0; runs.at(-1)?.counts === undefined; run += 1) {
      assert.ok(run < 20, 'the import does not end');
      runs.push(await runUntilKilled(backend, 1));
    }
    const last = runs.at(-1);
    // One page for each list, but two for the customers. The list of charges is one of its own.
    assert.equal(runs.length, 10);
    assert.deepEqual(runs[0]?.resumed, []);
    assert.deepEqual(runs[2]?.resumed, [
      { plan: allAdopted(2), customer: allAdopted(100), ...{} },
    ]);
    assert.deepEqual(last?.counts, {
      plan: allAdopted(2),
      customer: allAdopted(customerCount + 2),
      external_id: allAdopted(2),
      subscription: allAdopted(3),
      invoice: allAdopted(4),
      payment: allAdopted(7),
      refund: allAdopted(1),
      dispute: allAdopted(1),
    });
  });
});
