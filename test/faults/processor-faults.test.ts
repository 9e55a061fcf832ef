import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { effort } from '../support/effort.ts';
import { TcpLine } from '../support/tcp-line.ts';
import type { Load } from './rig/load.ts';
import { type Rig, startRig } from './rig/rig.ts';

const rounds = effort({ short: 1, long: 20 });
/** How many calls to the processor each fault affects in a round. */
const faultsTimes = effort({ short: 15, long: 100 });
/** What a processor that fails may lead to: 502 invalid responses, 503 down or limiting, 504 too slow. */
const failures = [502, 503, 504];
/** So many requests in a row meet a processor that is out of reach. */
const refusalsMin = effort({ short: 5, long: 20 });
/** The same for a processor with the manners of a real account, at which each call takes a second or more. */
const slowFaultsTimes = effort({ short: 4, long: 40 });
const maxInFlight = 20;
/** Three times as many as may be in flight. */
const callersCount = 60;

const sandboxFaults = [
  { name: 'resets before the work', fault: { kind: 'reset_before' } },
  { name: 'resets after the work', fault: { kind: 'reset_after' } },
  { name: 'limits calls', fault: { kind: 'error', status: 429 } },
  { name: 'fails and remembers it', fault: { kind: 'error', status: 500 } },
  { name: 'is slow', fault: { kind: 'latency', latencyMs: 300 } },
] as const;

const page = '<html><body>Welcome to the proxy!</body></html>';
const pageResponse = `HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: ${page.length}\r\n\r\n${page}`;

/** Each starts a fault and returns what ends it. */
const lineFaults: readonly (readonly [string, (line: TcpLine) => Promise<() => Promise<void>>])[] = [
  ['down', (line) => line.closePort()],
  [
    'invalid responses: a page, as from a proxy put in between by mistake',
    async (line) => {
      line.respondWith(pageResponse);
      return async () => line.respondWith(undefined);
    },
  ],
];

test('a Till whose processor fails serves what it can', async (t) => {
  const { rig, line } = await startRigOnLine(t);

  await t.test('whatever the processor does, nothing is charged twice and no payment is lost', async (t) => {
    const load = rig.startLoad();
    await load.progressed(20);
    await meetFaults(t, rig, load, faultsTimes);
    await rig.check(load, { failures });
  });

  await t.test(
    'nor is it at a processor that is as slow and as strict as a real account, and does all of that',
    async (t) => {
      const load = rig.startLoad();
      await rig.withManners(async () => {
        await load.progressed(5);
        await meetFaults(t, rig, load, slowFaultsTimes);
        await load.end();
      });
      await rig.check(load, { failures });
    },
  );

  await t.test(
    'a processor that is down or sends invalid responses causes 502 and 503, and nothing else',
    async (t) => {
      const load = rig.startLoad();
      await load.progressed(20);
      for (let round = 0; round < rounds; round += 1) {
        for (const [name, fail] of lineFaults) {
          const repair = await fail(line);
          for (let met = 0; met < refusalsMin; met += 1) await load.meetsFault(performance.now());
          await assertHealthy(rig);
          await repair();
          t.diagnostic(`${name}: served again after ${await took(() => load.progressed(1))} ms`);
          await load.progressed(10);
        }
      }
      await rig.check(load, { failures });
      assert.ok(line.connectionsPeak <= maxInFlight, `${line.connectionsPeak} connections to the processor`);
    },
  );

  await t.test(
    'a processor that hangs holds a bounded number of calls; the rest is refused at once, and reads go on',
    async () => {
      const load = rig.startLoad();
      await load.progressed(20);
      await rig.control('faults', { operation: '*', kind: 'hang', times: 10_000 });
      const startedAtMs = performance.now();
      const callers = Array.from({ length: callersCount }, (_, index) => createCustomer(rig, `c${index}`));
      // Those of the load are refused beside them.
      const refused = await firstRefusals(callers, callersCount - maxInFlight);
      const tookMs = performance.now() - startedAtMs;
      // The calls themselves would take ten seconds to fail.
      assert.ok(tookMs < 5_000, `the refusals took ${tookMs.toFixed(0)} ms`);
      for (const { status, code, retryAfter } of refused)
        assert.deepEqual({ status, code, retryAfter }, { status: 503, code: 'overloaded', retryAfter: '1' });
      const read = await rig.client.call('GET', '/customers');
      assert.equal(read.status, 200);
      await assertHealthy(rig);
      await rig.control('faults', {}, 'DELETE');
      await Promise.all(callers);
      assert.ok(line.connectionsPeak <= maxInFlight, `${line.connectionsPeak} connections to the processor`);
      // Half of the calls that may be in progress at a time, because the load has its own.
      for (let first = 0; first < callersCount; first += maxInFlight / 2) {
        const keys = Array.from({ length: maxInFlight / 2 }, (_, index) => `c${first + index}`);
        const again = await Promise.all(keys.map((key) => createCustomer(rig, key)));
        assert.deepEqual(
          again.map(({ status }) => status),
          keys.map(() => 201),
        );
      }
      await load.progressed(20);
      await rig.check(load, { failures });
    },
  );

  await t.test(
    'webhooks that stop for an hour and then come all at once are applied, each once',
    async () => {
      const load = rig.startLoad();
      for (let round = 0; round < rounds; round += 1) {
        await rig.control('delivery', { mode: 'paused' });
        await load.progressed(effort({ short: 25, long: 500 }));
        await rig.control('clock', { advanceSeconds: 3_600 });
        await rig.control('delivery', { mode: 'normal' });
        await load.progressed(20);
      }
      await rig.check(load, { failures: [] });
    },
  );
});

/** Lets the processor fail in every way, while the load goes on. */
async function meetFaults(t: TestContext, rig: Rig, load: Load, times: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, fault } of sandboxFaults) {
      const before = load.ledger.client.attempts.length;
      await rig.control('faults', { operation: '*', times, ...fault });
      while (((await rig.control('faults', {}, 'GET')) as { faults: [] }).faults.length > 0)
        await load.progressed(1);
      const servedMs = await took(() => load.progressed(1));
      const requests = load.ledger.client.attempts.length - before;
      t.diagnostic(`${name}: ${requests} requests, served again after ${servedMs} ms`);
    }
  }
}

/** A rig with a line between Till and its processor, which can fail in ways that the processor itself cannot. */
async function startRigOnLine(t: TestContext) {
  const { promise, resolve } = Promise.withResolvers<TcpLine>();
  const rig = await startRig(t, {
    environment: { PROCESSOR_MAX_IN_FLIGHT: String(maxInFlight) },
    processorLine: async (url) => {
      // The clock of a sandbox is read beside the calls, which a real processor has not.
      const counts = (head: Buffer) => !head.toString('latin1').startsWith('GET /sandbox/clock ');
      const line = await TcpLine.open(Number(new URL(url).port), { counts });
      resolve(line);
      return line;
    },
  });
  return { rig, line: await promise };
}

/** A failure of the processor is not a failure of Till: it serves what it can, and /health stays healthy. */
async function assertHealthy(rig: Rig): Promise<void> {
  assert.equal((await fetch(`${rig.url()}/health`)).status, 200);
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return Math.round(performance.now() - startedAtMs);
}

interface Refusable {
  readonly status: number;
  readonly code: string | undefined;
  readonly retryAfter: string | null;
}

async function createCustomer(rig: Rig, key: string): Promise<Refusable> {
  const body = { email: `${key}@example.com` };
  const response = await rig.client.call('POST', '/customers', body, { 'idempotency-key': key });
  // Every response of the API is a JSON object.
  const { code } = (await response.json()) as { readonly code?: string };
  return { status: response.status, code, retryAfter: response.headers.get('retry-after') };
}

/** The first responses, in the order in which they arrive. */
async function firstRefusals(responses: readonly Promise<Refusable>[], count: number) {
  const { promise, resolve } = Promise.withResolvers<readonly Refusable[]>();
  const first: Refusable[] = [];
  for (const response of responses)
    void response.then((one) => {
      first.push(one);
      if (first.length === count) resolve([...first]);
    });
  return promise;
}
