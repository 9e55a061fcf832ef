import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { findRunningPostgres } from '#runtime/embedded-postgres.ts';
import { connectProcessor, openSql, type Sql } from '../support/backend.ts';
import { eventsSettled } from '../support/checks/events.ts';
import { assertMirrored, readMirroredIds } from '../support/checks/mirrors.ts';
import { createClient, testKey } from '../support/client.ts';
import { copyCluster } from '../support/cluster-template.ts';
import { effort } from '../support/effort.ts';
import { freePort } from '../support/free-port.ts';
import { installCommand } from '../support/install-command.ts';
import { assertSameResponses, recordResponses } from '../support/recorded-responses.ts';
import { startTill } from '../support/till.ts';
import { projectFolder, quickCommand, type TillInChild } from '../support/till-in-child.ts';
import { SampleActivity } from './sample-activity.ts';

const activitiesAtOnce = effort({ short: 1, long: 3 });

/** The blocks of commands in the document: back up, restore, resync. */
async function documentedCommands(): Promise<readonly [string, string, string]> {
  const document = await readFile(join(projectFolder, 'docs/backup-and-restore.md'), 'utf8');
  const [backUp = '', restore = '', resync = '', ...others] = [...document.matchAll(/```sh\n(.*?)```/gs)].map(
    ([, block]) => block,
  );
  assert.deepEqual(others, []);
  return [backUp, restore, resync];
}

/** Till with its embedded parts, stopped and started again on the same data. */
async function createShop(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'till-restore-'));
  const sandboxPort = await freePort();
  const environment = {
    DATA_DIR: join(folder, 'data'),
    BACKUP: join(folder, 'backup'),
    API_KEYS: testKey,
    SANDBOX_PORT: String(sandboxPort),
  };
  copyCluster(environment.DATA_DIR);
  await installCommand(folder);
  let till: TillInChild | undefined;
  t.after(async () => {
    await till?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const processor = connectProcessor(`http://127.0.0.1:${sandboxPort}`);
  const inspect = async <Result>(work: (sql: Sql) => Promise<Result>) => {
    const postgres = await findRunningPostgres(environment.DATA_DIR);
    const ends: (() => unknown)[] = [() => postgres.stop()];
    try {
      return await work(openSql(postgres.url, (end) => void ends.push(end)));
    } finally {
      for (const end of ends.toReversed()) await end();
    }
  };
  const client = createClient({
    get url() {
      return till?.url ?? '';
    },
  });
  return {
    ...client,
    stripe: processor.stripe,
    inspect,
    start: async () => {
      till = await startTill({ in: 'child', environment, command: quickCommand });
    },
    stop: async () => {
      assert.equal(await till?.stop(), 0);
    },
    run: async (commands: string) => {
      const options = { cwd: folder, env: { ...process.env, ...environment } };
      return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], options)).stdout;
    },
    settle: () => inspect((sql) => eventsSettled(processor, sql)),
  };
}

test('a backup created and restored with the documented commands loses nothing that the processor knows', async (t) => {
  const [backUp, restore, resync] = await documentedCommands();
  const shop = await createShop(t);
  await shop.start();
  const activities = Array.from({ length: activitiesAtOnce }, (_, index) => new SampleActivity(shop, index));
  await Promise.all(activities.map((activity) => activity.begin()));
  await Promise.all(activities.map((activity) => activity.createSome()));
  await assert.rejects(shop.run(backUp), 'a running database is not copied');
  await shop.stop();
  await shop.run(backUp);
  await assert.rejects(shop.run(backUp), 'a backup is not overwritten');

  await shop.start();
  await Promise.all(activities.map((activity) => activity.createSome()));
  await Promise.all(activities.map((activity) => activity.changeEarlier()));
  await shop.settle();
  const deleted = activities.flatMap((activity) => activity.deleted);
  const recorded = await recordResponses(
    shop,
    deleted.map(({ id }) => id),
  );
  await assert.rejects(shop.run(restore), 'a running database is not replaced');
  await shop.stop();
  await shop.run(restore);

  await shop.start();
  assert.match(await shop.run(resync), /Compared all objects that Stripe lists/);
  await shop.settle();
  await assertSameResponses(shop, recorded);
  for (const { id } of deleted) assert.equal((await shop.call('GET', `/customers/${id}`)).status, 404);
  const gone = deleted.map(({ processorCustomerId }) => processorCustomerId);
  await shop.inspect(async (sql) => {
    await assertMirrored(shop.stripe, sql, await readMirroredIds(shop.stripe, gone));
    const kept = await sql(
      `select events.id from till.webhook_events as events join till.customers on processor_customer_id = object_id
       where deleted_at is not null and personal_data <> 'none' and erase_at is null`,
    );
    assert.deepEqual(kept, [], 'every event about a deleted customer is due to be erased');
  });
});
