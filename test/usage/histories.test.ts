import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, Dice } from '#runtime/seed/random.ts';
import { startBackend } from '../support/backend.ts';
import {
  confirmSecret,
  createCustomer,
  createPlan,
  createSubscription,
  type PlanBody,
  type SubscriptionBody,
} from '../support/objects.ts';
import { type Amount, seededRuns } from '../support/seeds.ts';
import { patch } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import {
  consumeUsage,
  createMeter,
  type MeterBody,
  readUsage,
  recordUsage,
  type UsageBody,
  usageOf,
} from '../support/usage.ts';

/** Steps of all histories together. */
const steps: Amount = { short: 60, long: 1_200 };
const customersCount = 4;
const batchMax = 30;
const dayMs = 86_400_000;

/** A subscription that was paid, and how long it has entitled its customer. */
interface Life {
  readonly subscription: SubscriptionBody;
  readonly startsAt: string;
  endedAt: string | null;
}

/** A customer, and the lives of its subscriptions in the order of their creation: two are active at a time. */
interface Subject {
  readonly id: string;
  readonly lives: Life[];
}

const activeOf = ({ lives }: Subject) => lives.filter(({ endedAt }) => endedAt === null);

const newestAt = ({ lives }: Subject, at: string) =>
  lives.findLast(({ startsAt, endedAt }) => at >= startsAt && (endedAt === null || at < endedAt));

async function begin(till: TillInProcess, plan: PlanBody, customerId: string): Promise<Life> {
  const { subscription, clientSecret } = await createSubscription(till, { planId: plan.id, customerId });
  // Without a secret, the credit of a change of plan has paid it.
  if (clientSecret !== null) await confirmSecret(till, clientSecret);
  await till.settle();
  return { subscription, startsAt: String(subscription.currentPeriodStart), endedAt: null };
}

/** A random history of two processes and one database, and what must be counted. */
class History {
  readonly #dice: Dice;
  readonly #tills: readonly [TillInProcess, TillInProcess];
  readonly #meters: readonly MeterBody[];
  readonly #plans: readonly PlanBody[];
  readonly #subjects: readonly Subject[];
  /** Every event that was ever acknowledged as counted, by its id. */
  readonly counted = new Map<string, UsageBody>();
  readonly #sent: UsageBody[] = [];
  #aheadMs = 0;
  #lastId = 0;

  constructor(
    seed: number,
    parts: {
      readonly tills: readonly [TillInProcess, TillInProcess];
      readonly meters: readonly MeterBody[];
      readonly plans: readonly PlanBody[];
      readonly subjects: readonly Subject[];
    },
  ) {
    this.#dice = new Dice(createRandom(seed));
    this.#tills = parts.tills;
    this.#meters = parts.meters;
    this.#plans = parts.plans;
    this.#subjects = parts.subjects;
  }

  async step(): Promise<void> {
    const kind = this.#dice.pick([
      ['record', 6],
      ['consume', 4],
      ['change', 1],
      ['restart', 0.5],
      ['abandon', 0.5],
      ['advance', 1],
      ['settle', 1],
    ] as const);
    switch (kind) {
      case 'record':
        return this.#record();
      case 'consume':
        return this.#consume();
      case 'change':
        return this.#changePlan();
      case 'restart':
        return this.#restart();
      case 'abandon':
        return this.#abandon();
      case 'advance':
        return this.#advance();
      case 'settle':
        return this.#tills[1].settle();
    }
  }

  /** Parts of old batches are sent again, by both processes at once, in any order. */
  async #record(): Promise<void> {
    const fresh = Array.from({ length: this.#dice.whole(1, batchMax) }, () => this.#newEvent());
    this.#sent.push(...fresh);
    const repeated = this.#sent.filter(() => this.#dice.happens(batchMax / this.#sent.length));
    const batch = this.#shuffled([...fresh, ...repeated]);
    const results = await Promise.all([
      recordUsage(this.#tills[0], ...batch),
      recordUsage(this.#tills[1], ...this.#shuffled(batch)),
    ]);
    for (const { rejected } of results) assert.deepEqual(rejected, []);
    const isNew = new Set(batch.map(({ id }) => id).filter((id) => !this.counted.has(id)));
    assert.equal(results[0].recorded + results[1].recorded, isNew.size);
    for (const event of batch) this.counted.set(event.id, event);
  }

  async #consume(): Promise<void> {
    const subject = this.#pick(this.#subjects);
    const meter = this.#pick(this.#meters);
    const at = this.#now();
    const wanted = Array.from({ length: this.#dice.whole(1, 12) }, () => ({
      ...usageOf(subject, meter, { id: this.#nextId(), at, quantity: this.#dice.whole(1, 5) }),
    }));
    const results = await Promise.all(
      wanted.map(async (event) => {
        const consumed = await consumeUsage(this.#tills[this.#dice.whole(0, 1) as 0 | 1], event);
        if (consumed.allowed) this.counted.set(event.id, event);
        return { ...consumed, quantity: Number(event.quantity) };
      }),
    );
    const refused = results.filter(({ allowed }) => !allowed);
    for (const { used, limit, quantity } of refused)
      assert.ok(limit !== null && used + quantity > limit, 'nothing is refused that fits');
  }

  /**
   * The processor's periods begin at whole seconds. An event of the same second, before the change, is in the window
   * before.
   */
  async #changePlan(): Promise<void> {
    await this.#advance(2);
    const subject = this.#pick(this.#subjects);
    const plan = this.#pick(this.#plans);
    const { subscription } = this.#pick(activeOf(subject));
    const response = await patch(this.#tills[0], subscription, { planId: plan.id });
    await response.arrayBuffer();
  }

  async #restart(): Promise<void> {
    await this.#advance(2);
    const subject = this.#pick(this.#subjects);
    await this.#end(this.#pick(activeOf(subject)));
    subject.lives.push(await begin(this.#tills[0], this.#pick(this.#plans), subject.id));
  }

  /** A subscription that is never paid expires within a day, and never has a window. */
  async #abandon(): Promise<void> {
    await this.#advance(2);
    const subject = this.#pick(this.#subjects);
    const order = { planId: this.#pick(this.#plans).id, customerId: subject.id };
    const { subscription } = await createSubscription(this.#tills[0], order);
    if (subscription.status === 'incomplete') return;
    const life = { subscription, startsAt: String(subscription.currentPeriodStart), endedAt: null };
    subject.lives.push(life);
    await this.#end(life);
  }

  async #end(life: Life): Promise<void> {
    const path = `/subscriptions/${life.subscription.id}`;
    await this.#tills[0].call('DELETE', path);
    life.endedAt = (await this.#tills[0].get<SubscriptionBody>(path)).endedAt;
  }

  async #advance(seconds = this.#dice.whole(1, 9) * 86_400): Promise<void> {
    await this.#tills[0].control('clock', { advanceSeconds: seconds });
    this.#aheadMs += seconds * 1_000;
  }

  #newEvent(): UsageBody {
    const [subject, meter] = [this.#pick(this.#subjects), this.#pick(this.#meters)];
    // Some events are late, as far as the real time allows.
    const lateMs = this.#dice.happens(0.2) ? this.#dice.whole(0, Math.min(this.#aheadMs, 20 * dayMs)) : 0;
    const at = new Date(Date.parse(this.#now()) - lateMs).toISOString();
    return usageOf(subject, meter, { id: this.#nextId(), at, quantity: this.#dice.whole(-2, 6) });
  }

  #nextId(): string {
    this.#lastId += 1;
    return `event-${this.#lastId}`;
  }

  #now(): string {
    return new Date(Date.now() + this.#aheadMs).toISOString();
  }

  #pick<Value>(values: readonly Value[]): Value {
    return this.#dice.pick(values.map((value) => [value, 1] as const));
  }

  #shuffled<Value>(values: readonly Value[]): readonly Value[] {
    return values
      .map((value) => ({ value, place: this.#dice.between(0, 1) }))
      .toSorted((a, b) => a.place - b.place)
      .map(({ value }) => value);
  }
}

for (const { seed, runs, repeat } of seededRuns('MODEL', steps))
  test(`after ${runs} random steps of two processes, the counters are the sums of distinct events, ${repeat}`, async (t) => {
    const backend = await startBackend(t);
    const first = await startTill({ in: 'process', on: backend, mustNotLogErrors: true });
    const second = await startTill({ in: 'process', on: backend, mustNotLogErrors: true });
    const meters = [await createMeter(first), await createMeter(first, { resets: 'month' })];
    const features = (limit: number) => Object.fromEntries(meters.map(({ key }) => [key, limit]));
    const plans = [
      await createPlan(first, { features: features(40) }),
      await createPlan(first, { features: features(200), amount: 1_900 }),
      await createPlan(first, { features: features(500), interval: 'year' }),
      await createPlan(first, { features: features(20), interval: 'week' }),
    ];
    const subjects: Subject[] = [];
    for (let count = 0; count < customersCount; count += 1) {
      const { id } = await createCustomer(first);
      const lives = [];
      for (const plan of plans.slice(0, 2)) lives.push(await begin(first, plan, id));
      subjects.push({ id, lives });
    }
    const history = new History(seed, { tills: [first, second], meters, plans, subjects });
    for (let step = 0; step < runs; step += 1) await history.step();
    await assertExact(first, { counted: [...history.counted.values()], meters, subjects });
    assert.deepEqual([...first.deadlocks, ...second.deadlocks], []);
  });

interface Expected {
  readonly counted: readonly UsageBody[];
  readonly meters: readonly MeterBody[];
  readonly subjects: readonly Subject[];
}

async function assertExact(till: TillInProcess, { counted, meters, subjects }: Expected): Promise<void> {
  const total = (events: readonly UsageBody[]) => events.reduce((sum, one) => sum + Number(one.quantity), 0);
  const [stored] = await till.sql<{ count: number; sum: number }>(
    'select count(*) as count, sum(quantity)::bigint as sum from till.usage_events',
  );
  assert.deepEqual(stored, { count: counted.length, sum: total(counted) });
  const { wrong } = await till.services.usageCheck.run(false);
  assert.deepEqual(wrong, []);
  const outside = await till.sql(
    `select at, starts_at, ends_at from till.usage_events join till.usage_counters as held
       on held.customer_id = usage_events.customer_id and held.meter_id = usage_events.meter_id
         and held.starts_at = window_start
     where at < date_trunc('second', starts_at) or at >= ends_at`,
  );
  assert.deepEqual(outside, [], 'each event is in its window');
  const [sums] = await till.sql<{ sum: number }>('select sum(used)::bigint as sum from till.usage_counters');
  assert.equal(sums?.sum, total(counted), 'every event is in one window');
  const placed = await till.sql<{ customerId: string; at: Date; id: string | null }>(
    `select usage_events.customer_id as "customerId", at, subscriptions.id from till.usage_events
     left join till.subscriptions on subscriptions.customer_id = usage_events.customer_id
       and window_number = extract(microseconds from window_start)::integer % 1000000`,
  );
  for (const { customerId, at, id } of placed) {
    const subject = subjects.find((one) => one.id === customerId);
    const newest = subject && newestAt(subject, at.toISOString());
    assert.equal(id, newest?.subscription.id, `${customerId} ${at.toISOString()}`);
  }
  for (const subject of subjects)
    for (const meter of meters) {
      const { id } = subject;
      const newest = subject.lives.findLast(({ endedAt }) => endedAt === null);
      const usage = await readUsage(till, { id }, meter);
      if (usage === undefined || usage.limit === 0) continue;
      const inWindow = counted.filter(
        ({ customerId, meter: key, at }) =>
          customerId === id &&
          key === meter.key &&
          at >= usage.periodStart &&
          at < usage.periodEnd &&
          newestAt(subject, at) === newest,
      );
      assert.equal(usage.used, total(inWindow), `${id} ${meter.resets} ${usage.periodStart}`);
    }
}
