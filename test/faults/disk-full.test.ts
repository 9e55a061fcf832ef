/**
 * The disk of PostgreSQL fills up under load. First its tables cannot grow: reads still succeed, and
 * writes are refused. Then its log cannot grow, and the server goes down until there is room again.
 */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { effort } from '../support/effort.ts';
import { endure } from './rig/endure.ts';
import { PostgresServer } from './rig/postgres-server.ts';
import { startRig } from './rig/rig.ts';

const rounds = effort({ short: 1, long: 3 });
const fullMs = effort({ short: 1_000, long: 20_000 });
/** A new cluster takes 40 MB; the rest is for the load, and for the ballast that fills it. */
const diskBytes = 128 * 1_048_576;
/**
 * With the default, the server would keep more of its log than the disk holds, and would recover and fail again by
 * itself.
 */
const settings = { min_wal_size: '32MB', max_wal_size: '48MB', restart_after_crash: 'off' };
/** More files than it can have created in advance. */
const spareLogFilesMax = 20;

test('the disk of PostgreSQL is full', { skip: skipWithoutMount() }, async (t) => {
  const disk = await mountDisk();
  const server = await PostgresServer.start(settings, disk.path);
  const rig = await startRig(t, { databaseUrl: server.url });
  t.after(async () => {
    await server.stop('immediate');
    await disk.remove();
  });
  const load = rig.startLoad();
  const health = rig.watchHealth();
  await load.progressed(15);

  for (let round = 1; round <= rounds; round += 1) {
    await t.test('no room for its tables', (step) =>
      endure(step, load, health, {
        down: ['database'],
        begin: () => disk.fill(),
        meanwhile: () => setTimeout(fullMs),
        end: () => disk.clear(),
      }),
    );

    await t.test('no room for its log', (step) =>
      endure(step, load, health, {
        down: ['database'],
        begin: async () => {
          disk.fill();
          await needNewLog(server.url);
          await server.ended();
        },
        meanwhile: () => load.meetsFault(performance.now()),
        end: async () => {
          await disk.clear();
          await server.start();
        },
      }),
    );
  }

  await t.test('nothing was lost, nothing was done twice', () => rig.check(load));
});

/** A small disk of the test's own. */
async function mountDisk() {
  const path = await mkdtemp(join(tmpdir(), 'till-disk-'));
  const ballast = join(path, 'ballast');
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes},mode=0755`, 'tmpfs', path]);
  return {
    path,
    fill: () => fillUp(ballast),
    clear: () => rm(ballast),
    remove: async () => {
      execFileSync('umount', [path]);
      await rm(path, { recursive: true });
    },
  };
}

function skipWithoutMount(): string | false {
  try {
    const path = execFileSync('mktemp', ['-d'], { encoding: 'utf8' }).trim();
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', path], { stdio: 'ignore' });
    execFileSync('umount', [path]);
    return false;
  } catch {
    return 'needs to mount a small disk: run the tests as root';
  }
}

/** Writes until not one more page fits. */
function fillUp(path: string): void {
  const file = openSync(path, 'w');
  for (let chunk = Buffer.alloc(1_048_576); chunk.length >= 4_096; ) {
    try {
      writeSync(file, chunk);
    } catch {
      chunk = chunk.subarray(0, chunk.length / 2);
    }
  }
  closeSync(file);
}

/** The server begins a new file of its log, which it cannot create: it goes down, as it must. */
async function needNewLog(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    for (let files = 0; files < spareLogFilesMax; files += 1) {
      await client.query('select pg_current_xact_id()');
      await client.query('select pg_switch_wal()');
    }
  } catch {
    return;
  }
  throw new Error('the log never needed a new file');
}
