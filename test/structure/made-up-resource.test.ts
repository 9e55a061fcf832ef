import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Feature } from '#engine/feature.ts';
import type { FeatureContext } from '#runtime/composition/compose-services.ts';
import { startBackend } from '../support/backend.ts';
import { readSuccess } from '../support/client.ts';
import { copyProject } from '../support/copied-project.ts';
import type { EventPage } from '../support/event-feed.ts';
import type { CustomerBody, PageBody } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { backendEnvironment } from '../support/till-in-child.ts';
import { until } from '../support/until.ts';
import { contactFeature } from './contacts/contact-feature.ts';

/** The compiler checks that a feature gets what the made-up one needs. */
const made: Feature<FeatureContext> = contactFeature;

interface Resync {
  readonly status: string;
  readonly progress: readonly { readonly resource: string; readonly corrected: number }[];
}

interface ContactBody {
  readonly id: string;
  readonly email: string | null;
  readonly name: string | null;
  readonly updatedAt: string;
}

interface Overview {
  readonly currencies: readonly { readonly totals: { readonly contacts: number } }[];
}

interface Document {
  readonly tags: readonly object[];
  readonly components: { readonly schemas: object };
}

interface FoundObject {
  readonly objectType: string;
  readonly objectId: string;
}

test('a resource is a folder, an entry in the list of features and a migration: no other file changes', async (t) => {
  const folder = await copyProject();
  t.after(() => rm(folder, { recursive: true }));
  await addResource(folder);
  const backend = await startBackend(t);
  const start = () =>
    startTill({
      in: 'child',
      on: backend,
      command: [process.execPath, join(folder, 'src/main.ts')],
    });
  const till = await start();
  const contacts = async () => (await till.get<PageBody<ContactBody>>('/contacts')).data;

  const document = await readSuccess<Document>(await till.fetch('/api/docs/openapi.json'));
  for (const tag of made.tags ?? []) assert.ok(document.tags.some((one) => isSame(one, tag)));
  assert.ok('Contact' in document.components.schemas);

  const customer = await till.post<CustomerBody>('/customers', { email: 'ada@example.com', name: 'Ada' });
  assert.deepEqual(await contacts(), []);
  const { id } = await till.post<{ id: string }>('/resyncs');
  const read = () => till.get<Resync>(`/resyncs/${id}`);
  await until(async () => (await read()).status === 'finished');
  const { progress } = await read();
  assert.equal(progress.find(({ resource }) => resource === 'contact')?.corrected, 1);
  const [ada] = await contacts();
  assert.equal(ada?.email, 'ada@example.com');

  const events = await till.get<EventPage>('/events?types=contact.created');
  assert.deepEqual(
    events.data.map(({ objectId, objectType }) => [objectType, objectId]),
    [['contact', ada.id]],
  );
  const found = await till.get<{ data: FoundObject[] }>('/search?q=ada@example.com');
  assert.ok(found.data.some(({ objectType, objectId }) => objectType === 'contact' && objectId === ada.id));
  const overview = async () => (await till.get<Overview>('/overview?currency=eur')).currencies[0]?.totals;
  assert.equal((await overview())?.contacts, 1);
  const metrics = await (await till.fetch('/metrics')).text();
  assert.match(metrics, /mirror_drift_total\{resource="contact"\} 1/);

  await backend.stripe.customers.create({ email: 'foreign@example.com' });
  const report = await runCommand(folder, backendEnvironment(backend), 'import', '--json');
  assert.match(report, /"contact"/);
  assert.deepEqual((await contacts()).map(({ email }) => email).toSorted(), [
    'ada@example.com',
    'foreign@example.com',
  ]);
  assert.equal((await overview())?.contacts, 2);
  // Counts the rows, and compares what the events have added up to.
  const corrected = await runCommand(folder, backendEnvironment(backend), 'resync', '--all', '--json');
  assert.match(corrected, /"overviewNumbers":\s*0/);

  await till.fetch(`/api/v1/customers/${customer.id}`, { method: 'DELETE' });
  const erased = (await contacts()).find((one) => one.id === ada.id);
  assert.deepEqual([erased?.email, erased?.name], [null, null]);
  const about = () => till.get<EventPage>(`/events?objectId=${ada.id}`);
  assert.deepEqual((await about()).data.at(-1)?.previous, { updatedAt: ada.updatedAt });
  // The search for personal data runs at the start.
  await start();
  await until(async () => !JSON.stringify(await about()).includes('ada@example.com'));
});

async function addResource(folder: string): Promise<void> {
  const own = join(folder, 'src/features/contacts');
  await cp(join(import.meta.dirname, 'contacts'), own, { recursive: true });
  await rename(join(own, '9999_contacts.sql'), join(folder, 'migrations/9999_contacts.sql'));
  const list = join(folder, 'src/features/features.ts');
  const features = await readFile(list, 'utf8');
  const entry = features.replace('export const features = [', '$&\n  contactFeature,');
  assert.notEqual(entry, features);
  await writeFile(list, `import { contactFeature } from './contacts/contact-feature.ts';\n${entry}`);
}

async function runCommand(
  folder: string,
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<string> {
  const child = spawn(process.execPath, [join(folder, 'src/cli/cli.ts'), ...args], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  assert.equal(child.exitCode, 0, output);
  return output;
}

function isSame(a: object, b: object): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
