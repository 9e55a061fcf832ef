import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '#core/platform/clock.ts';
import { inLanes } from '#core/platform/lanes.ts';
import type { ImportResult } from '#operators/import/import.ts';
import { parsePlanEntries } from '#operators/import/plan-entries.ts';
import { createRandom } from '#runtime/seed/random.ts';
import { startBackend } from '../support/backend.ts';
import { listAll } from '../support/checks/mirrors.ts';
import { findExternalIdOwners, findPayingCustomers } from '../support/checks/paying-customers.ts';
import { effort } from '../support/effort.ts';
import { type Catalogue, makeEveryState } from '../support/every-state-account.ts';
import { dumpRows } from '../support/imports.ts';
import type { CustomerBody, PageBody } from '../support/objects.ts';
import { runTill } from '../support/run-till.ts';
import { seedOf } from '../support/seeds.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

const customerCount = effort({ short: 72, long: 5_000 });
const graceDays = 7;
/** Pages of an import between two kills. */
const pagesPerKill = effort({ short: 4, long: 25 });
const requestsAtOnce = 8;

type Entitled = ReadonlyMap<string, { readonly entitled: boolean; readonly features: object }>;

class Killed extends Error {}

/** Runs an import that is killed again and again until one run reaches the end. */
async function importDespiteKills(
  till: TillInProcess,
  options: Parameters<TillInProcess['services']['accountImport']['run']>[0],
): Promise<{ readonly result: ImportResult; readonly kills: number }> {
  const random = createRandom(seedOf('FAULT'));
  for (let kills = 0; ; kills += 1) {
    let left = 1 + Math.floor(random() * 2 * pagesPerKill);
    const onProgress = () => {
      left -= 1;
      if (left === 0) throw new Killed();
    };
    try {
      return { result: await till.services.accountImport.run(options, { onProgress }), kills };
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
    }
  }
}

/** What the API says about every customer, by the processor's ids. */
async function askTill(till: TillInProcess) {
  const customers: CustomerBody[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const more: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: PageBody<CustomerBody> & { nextCursor: string | null } = await till.get(
      `/customers?limit=100${more}`,
    );
    customers.push(...page.data);
    cursor = page.nextCursor;
  }
  const entitled = new Map<string, { entitled: boolean; features: object }>();
  await inLanes(customers, requestsAtOnce, async ({ id, processorCustomerId }) => {
    entitled.set(processorCustomerId, await till.get(`/customers/${id}/entitlements`));
  });
  return { customers, entitled: entitled satisfies Entitled };
}

const statuses = [
  'active',
  'canceled',
  'incomplete',
  'incomplete_expired',
  'past_due',
  'paused',
  'trialing',
  'unpaid',
];

/** What an operator says about the plans. Some of it is left out on purpose. */
function planFile({ month, seat, team, enterprise }: Catalogue): string {
  return JSON.stringify({
    [month]: { group: 'base', features: { sso: true, seats: 5 } },
    [seat]: { addOn: true, features: { seats: 1 } },
    [team]: { features: { sso: true, seats: 20, export: true } },
    [enterprise]: { features: { audit: true } },
  });
}

test('after an import, Till calls every customer entitled who pays, and names the others', async (t) => {
  const backend = await startBackend(t);
  const { stripe } = backend;
  const prices = await makeEveryState(backend, customerCount);
  const till = await startTill({ in: 'process', on: backend, entitlementGraceDays: graceDays });
  const planEntries = parsePlanEntries(planFile(prices));
  const options = { externalIdFrom: 'user', planEntries };

  const [rowsBefore, eventsBefore] = [await dumpRows(till), (await stripe.events.list({ limit: 1 })).data[0]];
  const foreseen = await till.services.accountImport.run({ ...options, isDryRun: true });
  assert.equal(await dumpRows(till), rowsBefore);
  assert.equal((await stripe.events.list({ limit: 1 })).data[0]?.id, eventsBefore?.id);
  const { result, kills } = await importDespiteKills(till, options);
  assert.ok(kills > 0);
  assert.deepEqual([result.access, result.counts], [foreseen.access, foreseen.counts]);
  assert.deepEqual(foreseen.settings, { products: 4, prices: 1 });

  const truth = await findPayingCustomers(stripe, {
    nowMs: backend.processorClock(systemClock).now().getTime(),
    graceDays,
  });
  const subscriptions = await listAll(stripe.subscriptions.list({ status: 'all', limit: 100 }));
  assert.deepEqual([...new Set(subscriptions.map(({ status }) => status))].sort(), statuses);
  assert.ok([...truth.values()].some(({ pays, hasAccess }) => hasAccess && !pays));
  const { customers, entitled } = await askTill(till);
  assert.deepEqual(new Set(entitled.keys()), new Set(truth.keys()));
  const differing = [...truth].filter(([id, { hasAccess }]) => entitled.get(id)?.entitled !== hasAccess);
  assert.deepEqual(differing, []);
  const { access } = result;
  const paying = [...truth].filter(([, { pays }]) => pays);
  const lockedOut = paying.filter(([, { hasPlan }]) => !hasPlan);
  assert.deepEqual(
    [access.payingCount, access.entitledCount],
    [paying.length, paying.length - lockedOut.length],
  );
  assert.ok(lockedOut.length > 0);
  assert.deepEqual(
    access.exceptions.items.map(({ processorCustomerId, email }) => [processorCustomerId, email]).sort(),
    lockedOut.map(([id, { email }]) => [id, email]).sort(),
  );
  const several = [...truth].filter(([, { liveCount }]) => liveCount > 1);
  assert.deepEqual(
    access.severalSubscriptions.items.map(({ processorCustomerId: id, liveCount }) => [id, liveCount]).sort(),
    several.map(([id, { liveCount }]) => [id, liveCount]).sort(),
  );
  assert.deepEqual(access.unusedFeatures, ['audit']);

  const owners = await findExternalIdOwners(stripe, 'user');
  const given = customers.filter(({ externalId }) => externalId !== null);
  assert.deepEqual(
    new Map(given.map(({ externalId, processorCustomerId }) => [externalId, processorCustomerId])),
    owners,
  );

  const folder = mkdtempSync(join(tmpdir(), 'till-plans-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'plans.json');
  writeFileSync(file, planFile(prices));
  const environment = {
    DATABASE_URL: backend.databaseUrl,
    PROCESSOR_API_BASE: backend.processorUrl,
    PROCESSOR_SECRET_KEY: 'sk_test_till',
  };
  const args = ['import', '--external-id-from=metadata.user', `--plans=${file}`, '--rate=100'];
  const { code, stdout, stderr } = await runTill(environment, ...args);
  assert.equal(code, 3, stderr);
  const lines = stdout.trimEnd().split('\n');
  const table = lines.indexOf('The import is finished.');
  t.diagnostic(`${truth.size} customers, ${kills} kills`);
  const isShown = (line: string) => !line.startsWith('Customer ');
  for (const line of effort({ short: [], long: lines.slice(table).filter(isShown) })) t.diagnostic(line);
  const sum = `${paying.length} customers pay now: a subscription is active or in its trial. `;
  assert.ok(
    lines.includes(`${sum}Till calls ${access.entitledCount} of them entitled.`),
    lines.slice(table).join('\n'),
  );
});
