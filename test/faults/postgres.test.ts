/**
 * PostgreSQL fails under load, in every way that a server can. Each time /health reports the failure and the
 * recovery within two seconds, requests that cannot be served get a 503 in time, and nothing is restarted.
 * At the end the checker looks for whatever was lost or done twice.
 */
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { effort } from '../support/effort.ts';
import { endure } from './rig/endure.ts';
import type { Load } from './rig/load.ts';
import { PostgresServer, stopModes } from './rig/postgres-server.ts';
import { startRig } from './rig/rig.ts';

const rounds = effort({ short: 1, long: 3 });
/** How long it stays down after a client has met that. */
const outageMs = effort({ short: 0, long: 10_000 });
/**
 * Past the 5 s that a request waits for a connection; in the long form also past the 12 s that it waits for a response.
 */
const frozenMs = effort({ short: 6_000, long: 20_000 });
const cuts = effort({ short: 10, long: 100 });
const cutDelayMs = 100;
const connectionsMax = 30;
/** How many attempts there are to take all of them: Till takes free ones too. */
const grabsMax = 500;

test('PostgreSQL fails and comes back', async (t) => {
  const server = await PostgresServer.start({ max_connections: String(connectionsMax) });
  const rig = await startRig(t, { databaseUrl: server.url });
  t.after(() => server.remove());
  const load = rig.startLoad();
  const health = rig.watchHealth();
  await load.progressed(20);

  for (let round = 1; round <= rounds; round += 1) {
    for (const mode of stopModes)
      await t.test(`stopped with ${mode}`, (step) =>
        endure(step, load, health, {
          down: ['database'],
          begin: () => server.stop(mode),
          meanwhile: () => outlast(load),
          end: () => server.start(),
        }),
      );

    await t.test('every connection is cut, again and again', () => cutConnections(server));

    await t.test('out of connections', (step) => {
      const hog = new ConnectionHog(server.url);
      step.after(() => hog.release());
      return endure(step, load, health, {
        down: ['database'],
        begin: () => hog.takeAll(),
        meanwhile: () => outlast(load),
        end: () => hog.release(),
      });
    });

    await t.test('it hangs, with every connection open', (step) =>
      endure(step, load, health, {
        down: ['database'],
        begin: () => server.freeze(),
        meanwhile: () => setTimeout(frozenMs),
        end: () => server.thaw(),
      }),
    );
  }

  await t.test('nothing was lost, nothing was done twice', () => rig.check(load));
});

async function outlast(load: Load): Promise<void> {
  await load.meetsFault(performance.now());
  await setTimeout(outageMs);
}

const cutTill = `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'till%'`;

async function cutConnections(server: PostgresServer): Promise<void> {
  const client = new pg.Client({ connectionString: server.url, application_name: 'cutter' });
  await client.connect();
  for (let cut = 0; cut < cuts; cut += 1) {
    await client.query(cutTill);
    await setTimeout(cutDelayMs);
  }
  await client.end();
}

/** Another client that takes every connection of the server, including Till's. */
class ConnectionHog {
  readonly #url: string;
  readonly #clients: pg.Client[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  async takeAll(): Promise<void> {
    for (let grabs = 0; this.#left > 0; grabs += 1) {
      if (grabs > grabsMax) throw new Error('Till is always quicker');
      await this.#clients[0]?.query(cutTill);
      await Promise.all(Array.from({ length: this.#left + 2 }, () => this.#grab()));
    }
  }

  get #left(): number {
    return connectionsMax - this.#clients.length;
  }

  async release(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.end()));
  }

  async #grab(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#url, application_name: 'hog' });
    client.on('error', () => {});
    await client.connect().then(
      () => this.#clients.push(client),
      () => undefined,
    );
  }
}
