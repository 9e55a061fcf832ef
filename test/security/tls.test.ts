import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { TLSSocket } from 'node:tls';
import { Database } from '#core/platform/postgres.ts';
import { RedisCache } from '#core/platform/redis-cache.ts';
import { startAdapter } from '../processor/adapter.ts';
import { newPayment } from '../processor/wire-objects.ts';
import { type Certificates, makeCertificates } from '../support/certificates.ts';
import { testKey } from '../support/client.ts';
import { freePort } from '../support/free-port.ts';
import { captureLog } from '../support/log-capture.ts';
import { type RedisServer, skipWithoutRedis, startTlsRedis } from '../support/redis-server.ts';
import { skipWithoutProgram } from '../support/require-program.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { startTill } from '../support/till.ts';

let certificates: Certificates;
let stranger: Certificates;
let database: TestDatabase;

const skip = skipWithoutProgram('openssl');
before(async () => {
  if (skip !== false) return;
  certificates = makeCertificates('localhost');
  stranger = makeCertificates('localhost');
  database = await createTestDatabase();
});

after(async () => {
  if (skip !== false) return;
  certificates.remove();
  stranger.remove();
  await database.drop();
});

describe('DATABASE_URL', { skip }, () => {
  test('with sslmode=verify-full connects to a server with a certificate of the named authority', async (t) => {
    const front = await startFront(t, 'tls');
    await ask(front.url('localhost', `sslmode=verify-full&sslrootcert=${certificates.authorityPath}`));
    assert.deepEqual(front.asked, ['tls']);
  });

  for (const sslmode of ['require', 'verify-ca', 'verify-full']) {
    test(`with sslmode=${sslmode} refuses a certificate of another authority`, async (t) => {
      const front = await startFront(t, 'tls');
      const url = front.url('localhost', `sslmode=${sslmode}&sslrootcert=${stranger.authorityPath}`);
      await assert.rejects(ask(url), /certificate|signature/);
    });

    test(`with sslmode=${sslmode} refuses a self-signed certificate`, async (t) => {
      const front = await startFront(t, 'tls');
      await assert.rejects(ask(front.url('localhost', `sslmode=${sslmode}`)), /certificate/);
    });

    test(`with sslmode=${sslmode} never goes on in the clear`, async (t) => {
      const front = await startFront(t, 'plain');
      await assert.rejects(ask(front.url('localhost', `sslmode=${sslmode}`)), /does not support SSL/);
      assert.deepEqual(front.asked, ['tls'], 'nothing but the question was sent');
    });
  }

  test('with sslmode=verify-full refuses a server of another name', async (t) => {
    const front = await startFront(t, 'tls');
    const url = front.url('127.0.0.1', `sslmode=verify-full&sslrootcert=${certificates.authorityPath}`);
    await assert.rejects(ask(url), /altnames|Hostname/);
  });

  test('with several hosts checks the name of each, and does not try the next after a wrong one', async (t) => {
    const front = await startFront(t, 'tls');
    const parameters = `sslmode=verify-full&sslrootcert=${certificates.authorityPath}`;
    const url = (hosts: string) => front.url('localhost', parameters).replace(/localhost:\d+/, hosts);
    const { host } = new URL(front.url('localhost', ''));
    await ask(url(`127.0.0.1:${await freePort()},${host}`));
    assert.deepEqual(front.asked, ['tls']);
    await assert.rejects(ask(url(`${host.replace('localhost', '127.0.0.1')},${host}`)), /altnames|Hostname/);
  });
});

describe('PROCESSOR_API_BASE', { skip }, () => {
  test('with https:// sends nothing to a server with an untrusted certificate', async (t) => {
    const asked: string[] = [];
    const { key, certificate } = stranger;
    const server = createHttpsServer({ key, cert: certificate }, ({ url = '' }, response) => {
      asked.push(url);
      response.end('{}');
    });
    t.after(() => server.close());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { processor } = startAdapter(t, new URL(`https://localhost:${port}`));
    await assert.rejects(processor.payments.create(newPayment), { code: 'processor_unavailable' });
    assert.deepEqual(asked, []);
  });
});

describe('REDIS_URL', { skip: skip || skipWithoutRedis() }, () => {
  let redis: RedisServer;
  before(async () => {
    redis = (await startTlsRedis(certificates)) ?? assert.fail('there is no Redis');
  });
  after(() => redis.stop());

  test('with rediss:// refuses a certificate of an untrusted authority', async (t) => {
    const { logger, lines } = captureLog();
    const cache = new RedisCache({ url: redis.url, logger });
    t.after(() => cache.close());
    await cache.connect();
    await assert.rejects(cache.ping());
    assert.match(JSON.stringify(lines), /certificate/);
  });

  test('and DATABASE_URL work over TLS with an authority that NODE_EXTRA_CA_CERTS names', async (t) => {
    const front = await startFront(t, 'tls');
    const till = await startTill({
      in: 'child',
      environment: {
        API_KEYS: testKey,
        NODE_EXTRA_CA_CERTS: certificates.authorityPath,
        DATABASE_URL: front.url('localhost', 'sslmode=verify-full'),
        REDIS_URL: redis.url,
      },
    });
    t.after(() => till.stop());
    const health = await fetch(`${till.url}/health`);
    assert.equal(health.status, 200, await health.text());
    assert.ok(front.asked.length > 0 && front.asked.every((kind) => kind === 'tls'));
  });
});

interface Front {
  /** What each connection asked for first. */
  readonly asked: readonly string[];
  url(host: string, parameters: string): string;
}

/** PostgreSQL's request for encryption: its length and its number. */
const encryptionRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** The test server on a TCP port, with TLS or refusing it; the server itself listens on a socket file only. */
async function startFront(t: { after(work: () => unknown): void }, kind: 'tls' | 'plain'): Promise<Front> {
  const [, parameters = ''] = database.url.split('?');
  const socketFolder = new URLSearchParams(parameters).get('host');
  const { key, certificate: cert } = certificates;
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', (first) => {
      const asksForTls = first.equals(encryptionRequest);
      asked.push(asksForTls ? 'tls' : 'plain');
      if (!asksForTls || kind === 'plain') return void socket.write('N');
      socket.write('S');
      const secure = new TLSSocket(socket, { isServer: true, key, cert });
      const behind = connect(`${socketFolder}/.s.PGSQL.5432`);
      sockets.add(behind);
      for (const side of [secure, behind]) side.on('error', () => socket.destroy());
      secure.pipe(behind).pipe(secure);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  const [, credentials = '', name = ''] = /\/\/([^@]*)@[^/]*\/(\w+)/.exec(database.url) ?? [];
  return {
    asked,
    url: (host, parameters) => `postgres://${credentials}@${host}:${port}/${name}?${parameters}`,
  };
}

/** Asks something of the database there, through the service's own pool. */
async function ask(url: string): Promise<void> {
  const pool = new Database({ url, poolSize: 1, logger: captureLog().logger });
  try {
    await pool.ping();
  } finally {
    await pool.close();
  }
}
