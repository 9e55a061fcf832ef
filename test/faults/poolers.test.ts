/**
 * Two Tills share a PgBouncer in transaction mode, with fewer sessions than the Tills have connections. Everything
 * around the load fails that can: PgBouncer, its sessions, PostgreSQL, and the Tills. The rig's checks hold as without
 * a pooler.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { effort } from '../support/effort.ts';
import { PgBouncer, skipWithoutPgBouncer } from '../support/pgbouncer.ts';
import { endure } from './rig/endure.ts';
import { PostgresServer } from './rig/postgres-server.ts';
import { type Rig, startRig } from './rig/rig.ts';

const rounds = effort({ short: 1, long: 5 });
/** How long a fault lasts after /health has reported it. */
const outageMs = effort({ short: 0, long: 5_000 });
const kills = effort({ short: 1, long: 2 });
const cuts = effort({ short: 5, long: 50 });
const cutDelayMs = 100;
/** The two Tills have up to 20 connections. */
const sessionsMax = 4;
/** As docs/poolers.md recommends. PgBouncer's default would make Till wait for 15 s after PostgreSQL is back. */
const loginRetrySeconds = 0.5;
const cutTill = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'till'`;

test('PgBouncer in transaction mode, under load', { skip: skipWithoutPgBouncer() }, async (t) => {
  // Without a schema, so that the first start migrates it.
  const server = await PostgresServer.start();
  const bouncer = await PgBouncer.start({
    databaseUrl: server.url,
    mode: 'transaction',
    settings: { default_pool_size: sessionsMax, server_login_retry: loginRetrySeconds },
  });
  const rig = await startRig(t, {
    databaseUrl: server.url,
    processes: 2,
    environment: { DATABASE_URL: bouncer.url, DATABASE_DIRECT_URL: server.url },
  });
  t.after(async () => {
    await bouncer.remove();
    await server.remove();
  });
  const load = rig.startLoad();
  const health = rig.watchHealth();
  await load.progressed(20);

  for (let round = 1; round <= rounds; round += 1) {
    const outlast = async () => {
      await load.meetsFault(performance.now());
      await setTimeout(outageMs);
    };

    await t.test('killed', (step) =>
      endure(step, load, health, {
        down: ['database'],
        begin: () => bouncer.kill(),
        meanwhile: outlast,
        end: () => bouncer.start(),
      }),
    );

    await t.test('PostgreSQL behind it restarts', (step) =>
      endure(step, load, health, {
        down: ['database'],
        begin: () => server.stop('immediate'),
        meanwhile: outlast,
        end: () => server.start(),
      }),
    );

    await t.test('paused', (step) =>
      endure(step, load, health, {
        down: ['database'],
        begin: () => bouncer.command('PAUSE'),
        meanwhile: () => setTimeout(outageMs),
        end: () => bouncer.command('RESUME'),
      }),
    );

    await t.test('reloaded, with every session replaced, and no request notices', async () => {
      const sinceMs = performance.now();
      await bouncer.command('RELOAD');
      await bouncer.command('RECONNECT');
      await load.progressed(10);
      const noticed = load.ledger.client.attempts.filter(
        ({ atMs, code }) => atMs >= sinceMs && code === 'database_unavailable',
      );
      assert.deepEqual(noticed, []);
    });

    await t.test('every session is cut, again and again', async () => {
      for (let cut = 0; cut < cuts; cut += 1) {
        await rig.sql(cutTill);
        await setTimeout(cutDelayMs);
      }
    });

    await t.test('a Till is killed, and starts again', async () => {
      for (let kill = 0; kill < kills; kill += 1) {
        await load.progressed(10);
        rig.tills[kill]?.kill();
        await rig.tills[kill]?.isUp();
      }
    });
  }

  await t.test('all of it went through PgBouncer but what needs a session', () => assertSessions(rig));
  await load.progressed(20);
  await t.test('nothing was lost, nothing was done twice', () =>
    rig.check(load, { failures: [0, 503], killed: true }),
  );
  t.diagnostic(`${load.ledger.client.attempts.length} requests, ${load.ledger.made.length} created`);
});

/** The Tills' own connections are the two owner locks. PgBouncer has the others, and no session keeps a statement. */
async function assertSessions({ sql }: Rig): Promise<void> {
  const rows = await sql<{ name: string; count: number }>(
    `select application_name as name, count(*) from pg_stat_activity
     where datname = current_database() and application_name like 'till%' group by 1 order by 1`,
  );
  const counts = Object.fromEntries(rows.map(({ name, count }) => [name, count]));
  assert.ok((counts['till'] ?? 0) <= sessionsMax, JSON.stringify(counts));
  assert.equal(counts['till owner lock'], 2, JSON.stringify(counts));
}
