/** Ordinary callers beside thousands of hostile ones. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Holding, holdingOf } from '../load/process-watch.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { effort } from '../support/effort.ts';
import { type Report, startHostileClients } from '../support/hostile/crowd.ts';
import { hostileKinds } from '../support/hostile/kinds.ts';
import type { LogLine } from '../support/log-capture.ts';
import { startTill } from '../support/till.ts';
import type { TillInChild } from '../support/till-in-child.ts';
import { until } from '../support/until.ts';
import { eventOf, signWebhook } from '../support/webhook-events.ts';

/** Of each kind. */
const count = effort({ short: 30, long: 2_000 });
/** Of all kinds together: they share the machine with Till. */
const requestsPerSecond = 50;
/** So many kinds at a time have fewer connections than a process accepts. */
const kindsAtOnce = effort({ short: 12, long: 4 });
const megabyte = 1_048_576;
/** What hostile callers may add to the memory in use. The resident memory also has garbage, and is only told. */
const memoryMax = 64 * megabyte;
/** Until then, pools and the heap grow to their size. */
const warmUpRounds = 100;
/** Connections of pools, which open and close by themselves. */
const handlesMax = 30;
const lanes = 3;

test(`beside ${count} hostile connections of each kind, ordinary callers are served, and memory stays bounded`, async (t) => {
  const backend = await startBackend(t);
  const till = await startWatched(backend);
  const keys = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const values = { name: `hostile-${index}`, scopes: ['read', 'write'] };
      return (await till.post<{ readonly key: string }>('/api-keys', values)).key;
    }),
  );
  const ordinary = new Ordinary(till);
  t.after(() => ordinary.end());
  await ordinary.serve(warmUpRounds);
  const before = await look(till);
  const { host, hostname, port } = new URL(till.url);
  const kinds = hostileKinds({ host, count, keys });
  for (let first = 0; first < kinds.length; first += kindsAtOnce) {
    const group = kinds.slice(first, first + kindsAtOnce);
    // The others come from the address of the ordinary callers, as behind a proxy.
    const from = ['127.0.0.1', '127.0.0.2', '127.0.0.1', '127.0.0.3'];
    await using clients = await startHostileClients(group, {
      ...{ host: hostname, port: Number(port), from, requestsPerSecond },
    });
    let highest = 0;
    await until(async () => {
      await ordinary.serve(5);
      highest = Math.max(highest, holdingOf(till.child.pid ?? 0).rssMegabytes * megabyte);
      return (await clients.look()).isComplete;
    });
    const during = await look(till);
    await ordinary.serveNewKey();
    tell(t, await clients.leave());
    tellMemory(t, { before, during, highest });
    assert.ok(during.bytes - before.bytes <= memoryMax, 'memory is bounded');
    await until(() => holdingOf(till.child.pid ?? 0).handles <= before.handles + handlesMax);
  }
  const later = await look(till);
  tellMemory(t, { before, during: later, highest: later.rssBytes });
  assert.ok(later.bytes - before.bytes <= memoryMax / 4, 'memory is returned');
  assert.deepEqual(await ordinary.end(), []);
  assert.equal((await till.fetch('/health')).status, 200);
});

/** A Till that says at SIGUSR2 what it holds. */
function startWatched(backend: Backend): Promise<TillInChild> {
  const probe = new URL('../faults/rig/memory-probe.ts', import.meta.url).href;
  // As `npm start` does.
  const options = `--import=${probe} --max-semi-space-size=16`;
  return startTill({ in: 'child', on: backend, environment: { NODE_OPTIONS: options } });
}

interface Look extends Pick<Holding, 'handles'> {
  /** What is in use, without garbage. */
  readonly bytes: number;
  readonly rssBytes: number;
}

async function look(till: TillInChild): Promise<Look> {
  const message = 'memory in use';
  const looks = till.lines.filter(({ msg }) => msg === message).length;
  till.child.kill('SIGUSR2');
  const line: LogLine = await till.logged(message, looks + 1);
  const [heap, external, rss] = ['heapUsed', 'external', 'rss'].map((name) => Number(line[name]));
  assert.ok(heap !== undefined && external !== undefined && rss !== undefined);
  return { bytes: heap + external, rssBytes: rss, handles: holdingOf(till.child.pid ?? 0).handles };
}

/** Callers that do what they should, one request after the other in each lane. */
class Ordinary {
  readonly #till: TillInChild;
  readonly #refusals: string[] = [];
  readonly #lanes: Promise<void>[];
  #rounds = 0;
  #hasEnded = false;

  constructor(till: TillInChild) {
    this.#till = till;
    this.#lanes = Array.from({ length: lanes }, () => this.#run());
  }

  /** Resolves after so many more rounds. */
  async serve(rounds: number): Promise<void> {
    const enough = this.#rounds + rounds;
    await until(() => this.#rounds >= enough);
  }

  /** An API key that this process has not seen yet. */
  async serveNewKey(): Promise<void> {
    const { key } = await this.#till.post<{ key: string }>('/api-keys', { name: 'new', scopes: ['read'] });
    const response = await this.#till.fetch('/api/v1/payments', { headers: { 'x-api-key': key } });
    assert.equal(response.status, 200, await response.text());
  }

  /** Resolves with what was refused. */
  async end(): Promise<readonly string[]> {
    this.#hasEnded = true;
    await Promise.all(this.#lanes);
    return this.#refusals;
  }

  async #run(): Promise<void> {
    for (; !this.#hasEnded; this.#rounds += 1) {
      await this.#expect(200, '/api/v1/customers?limit=2');
      // On a connection of its own.
      await this.#expect(200, '/api/v1/payments', { headers: { connection: 'close' } });
      const body = eventOf('invoice.paid.newer');
      const headers = { 'content-type': 'application/json', 'stripe-signature': signWebhook(body) };
      await this.#expect(200, '/webhooks/processor', { method: 'POST', body, headers });
      const customer = JSON.stringify({ email: 'ordinary@example.com' });
      const json = { 'content-type': 'application/json' };
      await this.#expect(201, '/api/v1/customers', { method: 'POST', body: customer, headers: json });
    }
  }

  async #expect(status: number, path: string, init: RequestInit = {}): Promise<void> {
    try {
      const response = await this.#till.fetch(path, init);
      const text = await response.text();
      if (response.status !== status) this.#refusals.push(`${path}: ${response.status} ${text}`);
    } catch (error) {
      this.#refusals.push(`${path}: ${error instanceof Error ? error.cause : error}`);
    }
  }
}

function tell(t: TestContext, { outcomes }: Report): void {
  for (const [kind, { sent, cut, refused, statuses }] of Object.entries(outcomes))
    t.diagnostic(`${kind}: ${sent} sent, ${cut} cut, ${refused} refused, ${JSON.stringify(statuses)}`);
}

function tellMemory(t: TestContext, memory: { before: Look; during: Look; highest: number }): void {
  const { before, during, highest } = memory;
  const mib = (bytes: number) => (bytes / megabyte).toFixed(0);
  t.diagnostic(
    `in use: ${mib(before.bytes)} MiB before, ${mib(during.bytes)} now; resident: ${mib(before.rssBytes)} before, ` +
      `${mib(highest)} at most; handles: ${before.handles} before, ${during.handles} now`,
  );
}
