import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { createLifetime } from '../support/backend.ts';
import { readSuccess } from '../support/client.ts';
import { loadOpenapi, type OpenapiDocument } from '../support/openapi-document.ts';
import { createPromotionCode } from '../support/promotion-codes.ts';
import { skipWithoutRedis } from '../support/redis-server.ts';
import { seededRuns } from '../support/seeds.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';
import { signWebhook } from '../support/webhook-events.ts';
import { createCallers, type FuzzCaller } from './callers.ts';
import { type Case, Coverage, nameOf } from './coverage.ts';
import { fuzz, inAnyOrder } from './fuzz.ts';
import { IdPool } from './id-pool.ts';
import { type FuzzRequest, knownText } from './operation-parts.ts';
import { findRecipe } from './recipes/find-recipe.ts';
import type { Scene } from './recipes/recipe.ts';
import { requestsTo } from './request-values.ts';
import { Sender } from './sender.ts';
import { startTills } from './tills.ts';

/** Requests that are in progress at once. */
const lanes = 8;
/** Rounds of one request of each caller to each operation, about 1,100 together. */
const amount = { short: 1, long: 40 };
/** It deletes everything, so it comes last. */
const reset = 'POST /api/v1/sandbox/reset 200';

describe('two processes on one database and one Redis', { skip: skipWithoutRedis() }, () => {
  const life = createLifetime();
  let document: OpenapiDocument;
  let coverage: Coverage;
  let sender: Sender;
  let scene: Scene;

  before(async () => {
    const tills = await startTills(life);
    const later = await startTill({ in: 'process', for: life, turnWaitMs: 1 });
    document = await loadOpenapi(tills.pair[0].url);
    coverage = new Coverage(document.operations);
    sender = new Sender({ pair: tills.pair, document, coverage, lanes });
    scene = {
      ...tills,
      later,
      send: async (operation, request) => JSON.parse((await sender.send(operation, request)).text),
    };
  });
  after(() => {
    sender.close();
    return life.end();
  });

  test('each documented response of each operation is reached, and no other', async () => {
    const cases = coverage.cases.filter((one) => nameOf(one) !== reset);
    const isAlone = ({ code, operation }: Case) => findRecipe(code, operation)?.isAlone !== false;
    const failures: string[] = [];
    const tryCase = async (one: Case) => {
      try {
        await reach(one, scene, sender);
      } catch (error) {
        failures.push(`${nameOf(one)}: ${error instanceof Error ? error.message : error}`);
      }
    };
    for (const one of cases.filter(isAlone)) await tryCase(one);
    await inLanes(
      cases.filter((one) => !isAlone(one)),
      tryCase,
    );
    assert.deepEqual(failures, []);
  });

  test('no request of any caller, valid, nearly valid or hostile, fails, hangs, or has another scope than documented', async (t) => {
    for (const { repeat } of seededRuns('FUZZ', amount)) t.diagnostic(repeat);
    const callers = await createCallers(scene);
    const idPool = await createPool(scene);
    const admin = callers.find(({ name }) => name === 'admin') ?? assert.fail();
    const requests = document.operations.flatMap((operation) => {
      const kinds = [...requestsTo(operation).values()];
      const of = (caller: FuzzCaller) => (request: FuzzRequest) => ({ request, caller });
      // Of one kind from each caller, and of each kind from one who may do everything.
      return [
        ...callers.map((caller) => fc.oneof(...kinds).map(of(caller))),
        ...kinds.map((kind) => kind.map(of(admin))),
      ];
    });
    await fuzz(amount, inAnyOrder(requests), async (round) => {
      await idPool.refill();
      await inLanes(round, ({ request, caller }) => sender.sendAs(caller, idPool.fillIn(request)));
    });
  });

  test('nothing that the document promises was left out, and no process logged an error', async (t) => {
    const operation = document.operations.find(({ name }) => reset.startsWith(name));
    assert.ok(operation !== undefined);
    // They would not know that they must pause.
    for (const till of [scene.impatient, scene.hasty, scene.stingy]) await till.stop();
    await sender.send(operation, { to: scene.pair[0] });
    t.diagnostic(coverage.describe());
    coverage.assertWhole();
    const lines = scene.pair.flatMap((till) => till.lines);
    assert.deepEqual(
      lines.filter(({ level }) => level === 'error' || level === 'fatal'),
      [],
    );
  });
});

async function reach({ operation, code }: Case, scene: Scene, sender: Sender): Promise<void> {
  const found = findRecipe(code, operation);
  assert.ok(found !== undefined, 'no recipe says how to get it');
  const { undo, ...request } = await found.recipe(scene, operation);
  const { status, text } = await sender.send(operation, request).finally(undo);
  const got = status < 400 ? String(status) : JSON.parse(text).code;
  assert.equal(got, code, text.slice(0, 500));
}

async function createPool(scene: Scene): Promise<IdPool> {
  const { pair, sql } = scene;
  await scene.post('/customers', { email: 'k@example.com', externalId: knownText });
  await createPromotionCode(scene, { code: knownText });
  const isEmpty = (rows: string) => until(async () => (await sql(rows)).length === 0);
  return new IdPool({
    ...scene,
    take: async (body) => {
      const headers = { 'stripe-signature': signWebhook(body) };
      await readSuccess(await pair[0].fetch('/webhooks/processor', { method: 'POST', headers, body }));
    },
    settle: () => isEmpty(`select id from till.webhook_events where state = 'pending' and attempts = 0`),
    stopResyncs: () => isEmpty(`select id from till.resyncs where status = 'running'`),
  });
}

async function inLanes<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = items.values();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const item of waiting) await work(item);
    }),
  );
}
