/** What a body costs is bounded by its length, whatever it contains. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { FastifyInstance, HTTPMethods } from 'fastify';
import { bodyBytesMax, usageBodyBytesMax } from '../../src/http/load/limits.ts';
import { testKey } from '../support/client.ts';
import { effort } from '../support/effort.ts';
import { startFrame } from '../support/frame.ts';
import { type Documented, loadOpenapi, type Schema } from '../support/openapi-document.ts';
import { startTill } from '../support/till.ts';
import { largestBody, worstBodies, worstFields, worstLists } from '../support/worst-bodies.ts';

/** What a process needs at rest, and 256 MB. */
const heapMb = 320;
const till = await startTill({
  in: 'child',
  for: { after },
  environment: { API_KEYS: testKey, NODE_OPTIONS: `--max-old-space-size=${heapMb}` },
});
const { operations } = await loadOpenapi(till.url);
const writing = operations.filter(({ isApi, method }) => isApi && method !== 'GET');

/** A request may cost this many times what `JSON.parse` of its body costs, besides what every request costs. */
const timesMax = 20;
const requestMs = 10;
/** The cheapest counts, because others may use the machine meanwhile. */
const attempts = 20;
/** Bodies without a list are this much shorter than the longest: what they cost is in proportion to their length. */
const shorter = effort({ short: 64, long: 1 });
const fewer = effort({ short: 4, long: 1 });

const schemaOf = ({ requestBody }: Documented) => requestBody?.content['application/json']?.schema;
const bytesMaxOf = ({ path }: Documented) => (path === '/api/v1/usage' ? usageBodyBytesMax : bodyBytesMax);

test('no body costs more time than its length justifies', async (t) => {
  const { app } = await startFrame(t, async (scope) => {
    for (const operation of writing)
      scope.route({
        method: operation.method as HTTPMethods,
        url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
        bodyLimit: bytesMaxOf(operation),
        config: { scope: 'read', failures: [] },
        schema: schemaOf(operation) === undefined ? {} : { body: schemaOf(operation) },
        handler: (_request, reply) => reply.code(204).send(),
      });
  });
  const tooDear: string[] = [];
  const known = new Set<string>();
  for (const operation of writing)
    for (const { body, status } of bodiesFor(operation, known)) {
      const excess = await excessOf(app, operation, body, status);
      if (excess !== undefined) tooDear.push(`${operation.name} ${body.slice(0, 60)}: ${excess}`);
    }
  assert.deepEqual(tooDear, []);
});

test('no body costs much memory', async () => {
  const known = new Set<string>();
  for (const operation of writing)
    for (const [name, field] of Object.entries(schemaOf(operation)?.properties ?? {}))
      if (isNew(known, [name, field]))
        for (const body of worstLists(name, field, bytesMaxOf(operation)))
          await assertRefused(operation, body);
});

test('every list in a body has a maximum', () => {
  for (const operation of writing) assertBounded(schemaOf(operation) ?? {}, operation.name);
});

interface Attack {
  readonly body: string;
  readonly status: number;
}

/** Fields and bodies that several operations have in common come once. */
function* bodiesFor(operation: Documented, known: Set<string>): Iterable<Attack> {
  const schema = schemaOf(operation);
  const bytes = bytesMaxOf(operation);
  if (isNew(known, schema)) for (const body of worstBodies(bytes / shorter)) yield refused(body);
  if (schema === undefined) return;
  yield { body: largestBody(schema), status: 204 };
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    if (!isNew(known, [name, field])) continue;
    for (const body of worstFields(name, bytes / shorter)) yield refused(body);
    for (const body of worstLists(name, field, bytes / fewer)) yield refused(body);
  }
}

function refused(body: string): Attack {
  return { body, status: 400 };
}

function isNew(known: Set<string>, kind: unknown): boolean {
  return known.size < known.add(JSON.stringify(kind) ?? 'no body').size;
}

/** What a request with this body costs too much. Undefined if it is cheap enough. */
async function excessOf(app: FastifyInstance, operation: Documented, body: string, status: number) {
  let excess: string | undefined;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const parseMs = await cpuOf(() => parse(body));
    const requestCost = await cpuOf(async () => {
      const response = await app.inject({ ...requestFor(operation), payload: body });
      assert.equal(response.statusCode, status, `${operation.name} ${body.slice(0, 100)}: ${response.body}`);
    });
    if (requestCost <= timesMax * parseMs + requestMs) return undefined;
    excess = `${requestCost.toFixed(1)} ms instead of ${parseMs.toFixed(1)} ms`;
  }
  return excess;
}

function parse(body: string): void {
  try {
    JSON.parse(body);
  } catch (error) {
    assert.ok(error instanceof SyntaxError || error instanceof RangeError);
  }
}

async function cpuOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function assertRefused(operation: Documented, body: string): Promise<void> {
  const { method, url, headers } = requestFor(operation);
  const response = await fetch(`${till.url}${url}`, { method, headers, body });
  const text = await response.text();
  assert.equal(response.status, 400, `${operation.name} ${body.slice(0, 100)}: ${text}`);
}

function requestFor({ method, path }: Documented) {
  return {
    method: method as 'POST',
    url: path.replaceAll(/\{\w+\}/g, '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90'),
    headers: { 'x-api-key': testKey, 'content-type': 'application/json' },
  };
}

function assertBounded(schema: Schema, path: string): void {
  if (schema.items !== undefined) assert.ok(schema.maxItems !== undefined, `${path} has no maxItems`);
  for (const [name, field] of Object.entries({ ...schema.properties, '[]': schema.items ?? {} }))
    if (field !== undefined && Object.keys(field).length > 0) assertBounded(field, `${path}.${name}`);
}
