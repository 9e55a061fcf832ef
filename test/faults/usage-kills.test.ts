/**
 * Processes are killed while applications report and consume usage. Callers repeat whatever got no response, and every
 * fact counts once.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createRandom, Dice } from '#runtime/seed/random.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { readSuccess } from '../support/client.ts';
import { effort } from '../support/effort.ts';
import type { EventPage } from '../support/event-feed.ts';
import { createCustomer, createPlan } from '../support/objects.ts';
import { RestartableTill } from '../support/restartable-till.ts';
import { runTill } from '../support/run-till.ts';
import { seedOf } from '../support/seeds.ts';
import { takeSnapshot } from '../support/snapshots.ts';
import { subscribe } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';
import { backendEnvironment } from '../support/till-in-child.ts';
import {
  type ConsumedBody,
  consumeUsage,
  createMeter,
  type MeterBody,
  type RecordedBody,
  recordUsage,
  type UsageBody,
  usageOf,
} from '../support/usage.ts';

const requestsCount = effort({ short: 60, long: 6_000 });
const killsCount = effort({ short: 1, long: 40 });
const callersCount = 8;
const customersCount = 3;
const batchMax = 40;
/** Far less than is asked for, so that most windows reach it. */
const limit = effort({ short: 20, long: 1_500 });
const dayMs = 86_400_000;
/** Late events are in windows of their own: the months of UTC before the subscription. */
const lateMsMax = 34 * dayMs;
const weekMs = 7 * dayMs;
/** How often weekly subscriptions have been renewed, by the sandbox's clock. Monthly ones have not. */
const renewalsCount = 3;

interface Subject {
  readonly id: string;
  readonly interval: 'week' | 'month';
  readonly subscribedAtMs: number;
}

interface World {
  readonly subjects: readonly Subject[];
  /** Batches count here, beyond the limit too. */
  readonly recorded: MeterBody;
  /** Only consumptions count here. */
  readonly consumed: MeterBody;
}

/** Customers with new subscriptions, and one whose weekly subscription has been renewed. */
async function createWorld(backend: Backend): Promise<World> {
  const till = await startTill({ in: 'process', on: backend });
  const [recorded, consumed] = [await createMeter(till), await createMeter(till)];
  const features = { [recorded.key]: limit, [consumed.key]: limit };
  const subjects: Subject[] = [];
  for (let count = 0; count < customersCount; count += 1) {
    const interval = count === 0 ? 'week' : 'month';
    const plan = await createPlan(till, { features, interval });
    const { id } = await createCustomer(till);
    const { currentPeriodStart } = await subscribe(till, { plan, customerId: id });
    subjects.push({ id, interval, subscribedAtMs: Date.parse(String(currentPeriodStart)) });
  }
  for (let count = 0; count < renewalsCount; count += 1) {
    await till.control('clock', { advanceSeconds: weekMs / 1_000 });
    await till.settle();
  }
  await till.stop();
  return { subjects, recorded, consumed };
}

/** An event of now, of a window that has ended, or of one that has begun by the sandbox's clock. */
function newFact(dice: Dice, { subjects, recorded }: World): UsageBody {
  const otherMs = dice.whole(-lateMsMax, renewalsCount * weekMs);
  const atMs = Date.now() + (dice.happens(0.5) ? 0 : otherMs);
  return usageOf(dice.oneOf(subjects), recorded, {
    at: new Date(atMs).toISOString(),
    quantity: dice.whole(-2, 6),
  });
}

/** The callers of two processes that are killed again and again. */
class Callers {
  readonly #tills: readonly RestartableTill[];
  readonly #world: World;
  readonly #sent: UsageBody[] = [];
  readonly #killEvery = Math.floor(requestsCount / (killsCount + 1));
  readonly #counted: UsageBody[] = [];
  #begun = 0;
  #kills = 0;
  lostCount = 0;

  constructor(tills: readonly RestartableTill[], world: World) {
    this.#tills = tills;
    this.#world = world;
  }

  /** Every fact that was acknowledged. */
  get counted(): readonly UsageBody[] {
    return this.#counted;
  }

  async run(seed: number): Promise<void> {
    const lane = async (_: unknown, index: number) => {
      const dice = new Dice(createRandom(seed + index));
      while (this.#begun < requestsCount) {
        this.#begun += 1;
        const working = dice.happens(0.5) ? this.#record(dice) : this.consume(dice, dice.whole(1, 3));
        this.#killInTurn();
        await working;
      }
    };
    await Promise.all(Array.from({ length: callersCount }, lane));
    assert.equal(this.#kills, killsCount);
  }

  /** Amid the requests of all callers. */
  #killInTurn(): void {
    if (this.#begun % this.#killEvery !== 0 || this.#kills === killsCount) return;
    this.#tills[this.#kills % this.#tills.length]?.kill();
    this.#kills += 1;
  }

  /** Parts of earlier batches of all callers are sent again, even if they are in progress. */
  async #record(dice: Dice): Promise<void> {
    const fresh = Array.from({ length: dice.whole(1, batchMax) }, () => newFact(dice, this.#world));
    const repeated = this.#sent.filter(() => dice.happens(batchMax / this.#sent.length));
    this.#sent.push(...fresh);
    await this.#acknowledge(dice, shuffled(dice, [...fresh, ...repeated]));
    this.#counted.push(...fresh);
  }

  /** A batch without a response is sent again in two parts. */
  async #acknowledge(dice: Dice, batch: readonly UsageBody[]): Promise<void> {
    const body = await this.#send<RecordedBody>(dice, '/usage', { events: batch });
    if (body !== undefined) {
      assert.deepEqual(body.rejected, []);
      assert.equal(body.recorded + body.duplicates, batch.length);
      return;
    }
    const middle = dice.whole(0, batch.length);
    for (const part of [batch.slice(middle), batch.slice(0, middle)])
      if (part.length > 0) await this.#acknowledge(dice, part);
  }

  /** Returns what the last response said. */
  async consume(
    dice: Dice,
    quantity: number,
    subject = dice.oneOf(this.#world.subjects),
  ): Promise<ConsumedBody> {
    const fact = usageOf(subject, this.#world.consumed, { quantity });
    for (;;) {
      const body = await this.#send<ConsumedBody>(dice, '/usage/consume', fact);
      if (body === undefined) continue;
      assert.ok(body.used <= limit, 'nothing is counted above the limit');
      if (body.allowed) this.#counted.push(fact);
      else assert.ok(body.used + quantity > limit, 'nothing is refused that fits');
      return body;
    }
  }

  /** Undefined if the process was killed before it responded. Then it runs again. */
  async #send<Body>(dice: Dice, path: string, body: object): Promise<Body | undefined> {
    const till = dice.oneOf(this.#tills);
    const response = await till.client.call('POST', path, body).then(readBody, () => undefined);
    if (response === undefined) {
      this.lostCount += 1;
      await till.assertAlive();
      return undefined;
    }
    if (!response.ok) assert.fail(`${await response.text()}\n${await refusalsOf(till)}`);
    return readSuccess<Body>(response);
  }
}

/** What the process has logged about requests that it did not serve: only the log has the cause. */
async function refusalsOf(till: RestartableTill): Promise<string> {
  const { output } = await till.child();
  const refusals = output()
    .split('\n')
    .filter((line) => line.includes('request not served'));
  return refusals.slice(-3).join('\n');
}

/** Fails if the process dies before the whole body has arrived. */
async function readBody(response: Response): Promise<Response> {
  return new Response(await response.text(), response);
}

function shuffled<Value>(dice: Dice, values: readonly Value[]): readonly Value[] {
  return values
    .map((value) => ({ value, place: dice.between(0, 1) }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ value }) => value);
}

test(`through ${killsCount} kills of two processes, every acknowledged fact counts once in its window`, async (t) => {
  const backend = await startBackend(t);
  const world = await createWorld(backend);
  const seed = seedOf('FAULT');
  const tills = await Promise.all([startRestartable(backend), startRestartable(backend)]);
  const callers = new Callers(tills, world);
  await callers.run(seed);
  const dice = new Dice(createRandom(seed));
  for (const subject of world.subjects) {
    let last = await callers.consume(dice, 1, subject);
    while (last.allowed) last = await callers.consume(dice, 1, subject);
    assert.equal(last.used, limit, 'all that is left can be consumed');
  }
  await assertCounted(t, backend, { world, facts: callers.counted });
  t.diagnostic(
    `FAULT_SEED=${seed}: ${callers.counted.length} facts, ${callers.lostCount} responses were lost`,
  );
});

test('facts that a restore has lost are sent again with those that it has kept, and each counts once', async (t) => {
  const backend = await startBackend(t);
  const world = await createWorld(backend);
  const dice = new Dice(createRandom(seedOf('FAULT')));
  const batches = Array.from({ length: effort({ short: 4, long: 10 }) }, () =>
    Array.from({ length: batchMax }, () => newFact(dice, world)),
  );
  const consumptions = world.subjects.flatMap((subject) =>
    Array.from({ length: limit / 10 + 1 }, () => usageOf(subject, world.consumed, { quantity: 10 })),
  );
  const allowed = new Set<UsageBody>();
  const send = async (from: number, to: number) => {
    const till = await startTill({ in: 'process', on: backend });
    for (const batch of batches.slice(from * batches.length, to * batches.length)) {
      const { recorded, duplicates, rejected } = await recordUsage(till, ...batch);
      assert.deepEqual([recorded + duplicates, rejected], [batchMax, []]);
    }
    for (const fact of consumptions.slice(from * consumptions.length, to * consumptions.length))
      if ((await consumeUsage(till, fact)).allowed) allowed.add(fact);
      else assert.ok(!allowed.has(fact), 'what was allowed is allowed again');
    await till.stop();
  };
  await send(0, 0.5);
  const snapshot = await takeSnapshot(backend);
  await send(0.5, 1);
  await snapshot.restore();
  // The application does not know which ones were lost.
  await send(0, 1);
  assert.equal(allowed.size, world.subjects.length * (limit / 10));
  await assertCounted(t, backend, { world, facts: [...batches.flat(), ...allowed] });
});

async function startRestartable(backend: Backend): Promise<RestartableTill> {
  const till = await RestartableTill.start(backendEnvironment(backend));
  backend.atEnd(() => till.stop('SIGKILL'));
  return till;
}

interface Expected {
  readonly world: World;
  readonly facts: readonly UsageBody[];
}

/** Compares all windows with a plain sum of the facts. */
async function assertCounted(t: TestContext, backend: Backend, { world, facts }: Expected): Promise<void> {
  const [sums, granted] = [new Map<string, number>(), new Set<string>()];
  for (const { customerId, meter, at, quantity } of facts) {
    const subject = world.subjects.find(({ id }) => id === customerId) ?? assert.fail();
    const { startMs, isGranted } = windowOf(subject, Date.parse(at));
    const window = `${customerId} ${meter} ${new Date(startMs).toISOString()}`;
    sums.set(window, (sums.get(window) ?? 0) + Number(quantity));
    if (isGranted) granted.add(window);
  }
  const counters = await backend.sql<{ customerId: string; key: string; startsAt: Date; used: string }>(
    `select customer_id as "customerId", key, date_trunc('second', starts_at) as "startsAt", used
     from till.usage_counters join till.meters on meters.id = meter_id`,
  );
  const used = counters.map(
    (one) => [`${one.customerId} ${one.key} ${one.startsAt.toISOString()}`, Number(one.used)] as const,
  );
  assert.deepEqual(new Map(used.toSorted()), new Map([...sums].toSorted()));
  assert.ok(sums.size > granted.size && granted.size > world.subjects.length);

  const check = await runTill(backendEnvironment(backend), 'check-usage');
  assert.deepEqual([check.code, check.stderr], [0, ''], check.stdout);

  const till = await startTill({ in: 'process', on: backend });
  const { data, nextCursor } = await till.get<EventPage>('/events?types=usage.limit_reached&limit=100');
  assert.equal(nextCursor === null || data.length < 100, true, 'one page has all of them');
  const reached = data.map(
    ({ customerId, data: { meter, periodStart } }) => `${customerId} ${meter} ${periodStart}`,
  );
  assert.equal(new Set(reached).size, reached.length, 'a limit is reached once in a window');
  // Corrections may have brought others below the limit again.
  const full = [...granted].filter((window) => (sums.get(window) ?? 0) >= limit);
  assert.ok(full.length > 0 && full.every((window) => reached.includes(window)));
  assert.ok(reached.every((window) => granted.has(window)));

  const [row] = await backend.sql<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  assert.equal(Number(row?.deadlocks), 0);
  t.diagnostic(`${sums.size} windows, ${reached.length} limits were reached`);
}

/** The periods of the subscription, and before them the months of UTC. */
function windowOf({ subscribedAtMs, interval }: Subject, atMs: number) {
  if (atMs >= subscribedAtMs) {
    const weeks = interval === 'week' ? Math.floor((atMs - subscribedAtMs) / weekMs) : 0;
    return { startMs: subscribedAtMs + weeks * weekMs, isGranted: true };
  }
  const at = new Date(atMs);
  return { startMs: Date.UTC(at.getUTCFullYear(), at.getUTCMonth()), isGranted: false };
}
