import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createLifetime } from '../support/backend.ts';
import { testKey } from '../support/client.ts';
import { type Documented, loadOpenapi, type OpenapiDocument } from '../support/openapi-document.ts';
import { skipWithoutRedis } from '../support/redis-server.ts';
import { pathOf } from '../support/right-requests.ts';
import { startTill } from '../support/till.ts';
import { type Case, Coverage, nameOf } from './coverage.ts';
import { findRecipe } from './recipes/find-recipe.ts';
import type { Prepared, Scene } from './recipes/recipe.ts';
import { startTills } from './tills.ts';
import { createWireClient, type WireResponse } from './wire-client.ts';

/** Requests that are in progress at once. */
const lanes = 8;
/** It deletes everything, so it comes last. */
const reset = 'POST /api/v1/sandbox/reset 200';

describe('two processes on one database and one Redis', { skip: skipWithoutRedis() }, () => {
  let document: OpenapiDocument;
  let scene: Scene;
  let coverage: Coverage;
  const clients = new Map<string, ReturnType<typeof createWireClient>>();
  let sent = 0;
  const life = createLifetime();

  before(async () => {
    const tills = await startTills(life);
    const later = await startTill({ in: 'process', for: life, turnWaitMs: 1 });
    document = await loadOpenapi(tills.pair[0].url);
    coverage = new Coverage(document.operations);
    scene = {
      ...tills,
      later,
      send: async (operation, request) => JSON.parse((await send(operation, request)).text),
    };
  });
  after(() => {
    for (const { close } of clients.values()) close();
    return life.end();
  });

  test('each documented response of each operation is reached, and no other', async () => {
    const cases = coverage.cases.filter((one) => nameOf(one) !== reset);
    const isAlone = ({ code, operation }: Case) => findRecipe(code, operation)?.isAlone !== false;
    const failures: string[] = [];
    const tryCase = async (one: Case) => {
      try {
        await reach(one);
      } catch (error) {
        failures.push(`${nameOf(one)}: ${error instanceof Error ? error.message : error}`);
      }
    };
    for (const one of cases.filter(isAlone)) await tryCase(one);
    const waiting = cases.filter((one) => !isAlone(one));
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await tryCase(one);
      }),
    );
    assert.deepEqual(failures, []);
  });

  test('nothing that the document promises was left out, and no process logged an error', async (t) => {
    const operation = document.operations.find(({ name }) => reset.startsWith(name));
    assert.ok(operation !== undefined);
    // They would not know that they must pause.
    for (const till of [scene.impatient, scene.hasty]) await till.stop();
    await send(operation, { to: scene.pair[0] });
    t.diagnostic(coverage.describe());
    coverage.assertWhole();
    const lines = scene.pair.flatMap((till) => till.lines);
    assert.deepEqual(
      lines.filter(({ level }) => level === 'error' || level === 'fatal'),
      [],
    );
  });

  async function reach({ operation, code }: Case): Promise<void> {
    const found = findRecipe(code, operation);
    assert.ok(found !== undefined, 'no recipe says how to get it');
    const { undo, ...request } = await found.recipe(scene, operation);
    const { status, text } = await send(operation, request).finally(undo);
    const got = status < 400 ? String(status) : JSON.parse(text).code;
    assert.equal(got, code, text.slice(0, 500));
  }

  async function send(operation: Documented, request: Prepared): Promise<WireResponse> {
    sent += 1;
    const { url } = request.to ?? scene.pair[sent % 2] ?? assert.fail();
    const client = clients.get(url) ?? createWireClient(url, lanes);
    clients.set(url, client);
    const text = request.raw ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
    const headers = {
      ...(request.key === null ? {} : { 'x-api-key': request.key ?? testKey }),
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    };
    const response = await client.send({
      method: operation.method,
      path: pathOf(operation, request),
      headers: Object.entries(headers),
      body: text === undefined ? null : Buffer.from(text),
      isChunked: false,
    });
    document.assertDocumented(operation, {
      status: response.status,
      contentType: response.headers['content-type'] ?? null,
      text: response.text,
    });
    coverage.note(operation, response.status, response.text);
    return response;
  }
});
