import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type pg from 'pg';
import { Stripe } from 'stripe';
import { startTill, type Till } from '../../src/till/compose.ts';
import { loadConfig } from '../../src/till/config.ts';
import { captureLog, type LogLine } from './log-capture.ts';
import { createTestDatabase, openPool } from './test-database.ts';

const testKey = 'service-key-0123456789';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface Service {
  readonly url: string;
  readonly key: string;
  readonly databaseUrl: string;
  readonly processorUrl: string;
  /** A request with a valid key; a body is sent as JSON. */
  readonly call: (
    method: Method,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Response>;
  /** The official client on its own: the frontend and the dashboard, as far as Till is concerned. */
  readonly stripe: Stripe;
  /** The sandbox's own controls: its clock, its faults, its deliveries. */
  readonly control: (method: Method, path: string, body?: object) => Promise<void>;
  readonly sql: <Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<Row[]>;
}

/**
 * The whole service, in this process: its own database and its own sandbox, real sockets everywhere. Webhooks are held
 * back, so that a mirror changes only by what a test does. It ends with the tests of the file, and then nothing may
 * have been logged as a defect.
 */
export async function useService(environment: Readonly<Record<string, string>> = {}): Promise<Service> {
  const database = await createTestDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'till-service-'));
  const { logger, lines } = captureLog();
  const config = loadConfig(
    {
      PORT: '0',
      SANDBOX_PORT: '0',
      DATABASE_URL: database.url,
      DATA_DIR: dataDir,
      API_KEY: testKey,
      RATE_LIMIT_PER_MINUTE: '0',
      ...environment,
    },
    dataDir,
  );
  const till = await startTill(config, logger);
  const pool = openPool({ connectionString: database.url });
  after(async () => {
    await pool.end();
    const stopped = await till.stop();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
    assert.ok(stopped, 'the service did not end in time');
    assert.deepEqual(lines.filter(isDefect), []);
  });
  const service = connect(till, database.url, pool);
  await service.control('POST', 'delivery', { mode: 'paused' });
  return service;
}

/** Reads an answer that must be JSON with this status. */
export async function readJson<T>(answer: Response, status: number): Promise<T> {
  const text = await answer.text();
  assert.equal(answer.status, status, text);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  return JSON.parse(text);
}

function connect(till: Till, databaseUrl: string, pool: pg.Pool): Service {
  const { url } = till.facts;
  const processorUrl = till.facts.processor.replace('sandbox at ', '');
  const { hostname, port } = new URL(processorUrl);
  return {
    url,
    key: testKey,
    databaseUrl,
    processorUrl,
    call: (method, path, body, headers) =>
      fetch(`${url}/api/v1${path}`, {
        method,
        headers: {
          'x-api-key': testKey,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    stripe: new Stripe('sk_test_dashboard', {
      host: hostname,
      port,
      protocol: 'http',
      telemetry: false,
      maxNetworkRetries: 0,
    }),
    control: async (method, path, body) => {
      const answer = await fetch(`${processorUrl}/sandbox/${path}`, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      assert.equal(answer.status, 200, await answer.text());
    },
    sql: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await pool.query<Row>(text, [...values])).rows,
  };
}

function isDefect({ level }: LogLine): boolean {
  return level === 'error' || level === 'fatal';
}
