import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createRandom } from '#runtime/seed/random.ts';
import { testKey } from '../support/client.ts';
import { effort } from '../support/effort.ts';
import { seedOf } from '../support/seeds.ts';
import type { Load } from './rig/load.ts';
import { type Rig, startRig } from './rig/rig.ts';

const killMinutes = effort({ short: 0, long: 10 });
const killsMin = effort({ short: 2, long: 3 });
/** Each kill comes after another part of this. */
const roundsBetweenKillsMax = effort({ short: 12, long: 30 });
/** At a processor at which each call takes a second or more. */
const slowKills = {
  killsMin: effort({ short: 2, long: 10 }),
  killMinutes: 0,
  roundsBetweenKillsMax: effort({ short: 3, long: 15 }),
};
/** Longer than a lease, in the long form: what the process is at work on is taken over meanwhile. */
const blockMs = effort({ short: 2_000, long: 12_000 });
const blocks = effort({ short: 1, long: 10 });
const hourMs = 3_600_000;
/** A third of what the service has without a limit, and half as much again as it needs at rest. */
const heapMegabytes = 96;
const floods = effort({ short: 1, long: 100 });
/** More at once, parsed, than the heap would hold. */
const floodSize = 60;
const bodyBytes = 1_000_000;

const preload = (file: string) => `--import=${new URL(`./rig/${file}`, import.meta.url).href}`;

test('of two processes, one fails', async (t) => {
  const rig = await startRig(t, {
    processes: 2,
    environment: { NODE_OPTIONS: preload('blocked-loop.ts'), BLOCK_MS: String(blockMs) },
  });

  await t.test(
    'the work of a process whose event loop is blocked for seconds is taken over, and nothing happens twice',
    async (t) => {
      // Clients that give up on the blocked process and take the same request to the other.
      const load = rig.startLoad({ attemptTimeoutMs: 500 });
      await load.progressed(20);
      let slowestMs = 0;
      for (let block = 0; block < blocks; block += 1) {
        const till = rig.tills[block % 2];
        await till?.signal('SIGUSR2', 'the event loop is blocked');
        const blockedAtMs = performance.now();
        const progress = load.progressed(40);
        // What piled up meanwhile comes first, and may be more than it can do at once.
        while (!(await fetch(`${till?.url}/health`)).ok);
        slowestMs = Math.max(slowestMs, performance.now() - blockedAtMs);
        await progress;
      }
      await rig.check(load, { failures: [0, 503] });
      const given = load.ledger.client.attempts.filter(({ status }) => status === 0).length;
      t.diagnostic(
        `${given} of ${load.ledger.client.attempts.length} requests were given up, healthy ${slowestMs.toFixed(0)} ms after a block of ${blockMs} ms began`,
      );
    },
  );

  await t.test(
    'a process that is killed at any time loses nothing that it acknowledged and does nothing twice',
    async (t) => {
      const load = rig.startLoad();
      await killInTurn(t, rig, load, { killsMin, killMinutes, roundsBetweenKillsMax });
      await load.progressed(20);
      await rig.check(load, { failures: [0, 503], killed: true });
    },
  );

  await t.test(
    'nor one whose processor is as slow and as strict as a real account, so that it dies amid its calls',
    async (t) => {
      const load = rig.startLoad();
      await rig.withManners(async () => {
        await killInTurn(t, rig, load, slowKills);
        await load.progressed(5);
        await load.end();
      });
      await rig.check(load, { failures: [0, 503], killed: true });
    },
  );
});

interface Kills {
  readonly killsMin: number;
  readonly killMinutes: number;
  readonly roundsBetweenKillsMax: number;
}

/** Kills the processes of the rig, one after the other, while the load goes on. */
async function killInTurn(
  t: TestContext,
  rig: Rig,
  load: Load,
  { killsMin, killMinutes, roundsBetweenKillsMax }: Kills,
): Promise<void> {
  const random = createRandom(seedOf('FAULT'));
  const untilMs = performance.now() + killMinutes * 60_000;
  let kills = 0;
  let slowestMs = 0;
  while (kills < killsMin || performance.now() < untilMs) {
    await load.progressed(5 + Math.floor(random() * roundsBetweenKillsMax));
    const till = rig.tills[kills % rig.tills.length];
    const killedAtMs = performance.now();
    till?.kill();
    kills += 1;
    await till?.isUp();
    slowestMs = Math.max(slowestMs, performance.now() - killedAtMs);
  }
  t.diagnostic(
    `${kills} kills, ${load.ledger.client.attempts.length} requests, back after ${slowestMs.toFixed(0)} ms at most`,
  );
}

test('a process with little memory and a wrong clock', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'till-clock-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const clockFile = join(folder, 'offset');
  const rig = await startRig(t, {
    environment: {
      NODE_OPTIONS: `${preload('wrong-clock.ts')} --max-old-space-size=${heapMegabytes}`,
      CLOCK_FILE: clockFile,
    },
  });

  await t.test('little memory is enough for large bodies by the hundred and the longest lists', async () => {
    const load = rig.startLoad();
    await load.progressed(20);
    const { url } = rig.tills[0] ?? assert.fail();
    const body = `{"x":"${'x'.repeat(bodyBytes)}"}`;
    const statuses = new Map<string, number>();
    const flood = async (path: string, init: RequestInit) => {
      const response = await fetch(`${url}${path}`, init);
      await response.arrayBuffer();
      const outcome = `${response.status} ${path}`;
      statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1);
    };
    const json = { 'content-type': 'application/json', 'x-api-key': testKey };
    for (let round = 0; round < floods; round += 1) {
      await Promise.all(
        Array.from({ length: floodSize }, (_, index) => [
          flood('/webhooks/processor', { method: 'POST', body, headers: json }),
          index % 3 === 0 ? flood('/api/v1/customers', { method: 'POST', body, headers: json }) : undefined,
          flood('/api/v1/payments?limit=100', { headers: json }),
        ]).flat(),
      );
    }
    // What is too much for the machine is shed, and the slowest bodies without a signature are cut. Nothing else goes
    // wrong.
    const expected = /^(200|400|503) |^408 \/webhooks/;
    assert.ok(
      [...statuses.keys()].every((outcome) => expected.test(outcome)),
      JSON.stringify([...statuses]),
    );
    assert.equal(rig.tills[0]?.url, url, 'it lived through it');
    await rig.check(load);
  });

  await t.test('a clock that jumps by an hour, ahead and back, costs no request and no event', async () => {
    const load = rig.startLoad();
    await load.progressed(20);
    const [till] = rig.tills;
    for (const offsetMs of [hourMs, 0, -hourMs, 1]) {
      await writeFile(clockFile, String(offsetMs));
      await till?.signal('SIGUSR2', `the clock is off by ${offsetMs} ms`);
      await load.progressed(effort({ short: 12, long: 500 }));
    }
    await rig.check(load, { failures: [] });
  });
});
