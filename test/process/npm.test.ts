import assert from 'node:assert/strict';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startTill } from '../support/till.ts';

/** Each starts Till from npm: as its child, or in a shell that npm runs. */
const commands = [
  { command: ['npm', 'start'], signal: 'SIGKILL' },
  { command: ['npx', 'till', 'start'], signal: 'SIGTERM' },
  { command: ['npx', 'till', 'start'], signal: 'SIGKILL' },
  { command: ['npm', 'exec', '--', 'till', 'start'], signal: 'SIGTERM' },
] as const;

for (const { command, signal } of commands)
  test(`${command.join(' ')}: Till stops in order if npm alone gets ${signal}, and leaves nothing running`, async (t) => {
    const { till, folder } = await startWithNpm(t, [...command]);
    // Till holds the output open until it has ended.
    const closed = once(till.child, 'close');
    till.child.kill(signal);
    await closed;
    const stopped = till.lines.filter(({ msg }) => msg === 'stopping' || msg === 'stopped');
    assert.deepEqual(
      stopped.map(({ msg, clean }) => [msg, clean]),
      [
        ['stopping', undefined],
        ['stopped', true],
      ],
    );
    assert.deepEqual(processesOf(folder), []);
  });

async function startWithNpm(t: TestContext, command: readonly [string, ...string[]]) {
  const folder = await mkdtemp(join(tmpdir(), 'till-npm-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  // What npx remembers of earlier starts of this checkout is none of this test.
  const environment = { DATA_DIR: folder, npm_config_cache: join(folder, 'npm') };
  const till = await startTill({ in: 'child', environment, command });
  return { till, folder };
}

/** Processes whose command line mentions the folder: the embedded parts of a service that keeps its data there. */
function processesOf(folder: string): readonly string[] {
  return globSync('/proc/[0-9]*/cmdline').filter((path) => {
    try {
      return !path.includes(`/${process.pid}/`) && readFileSync(path, 'utf8').includes(folder);
    } catch {
      return false;
    }
  });
}
