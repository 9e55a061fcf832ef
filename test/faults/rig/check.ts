import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import type { Stripe } from 'stripe';
import { openPool } from '../../support/test-database.ts';
import { testKey } from '../../support/till-process.ts';
import { all, assertMirrored } from '../../webhooks/model/compare-mirrors.ts';
import type { Load, Made, MadeKind } from './load.ts';
import { type Attempt, unparseable } from './load-client.ts';
import type { Rig } from './rig.ts';

/** The service answers within 30 s whatever happens; what comes on top is a crowded machine's. */
const answerMsMax = 31_000;
/** Between two looks at a queue that empties by itself. */
const lookDelayMs = 50;
/** Two minutes: far longer than any queue here needs. */
const looksMax = 2_400;
/** Two seconds: a completion that failed is tried again after one. */
const completionLooksMax = 40;
/** The metadata by which the processor's objects name ours. */
const localIdKey = 'till_id';

export interface CheckOptions {
  /** Answers that the fault may lead to besides 2xx and the refusals that a client met; 503 unless told. */
  readonly failures?: readonly number[];
  /**
   * Processes were killed. A payment's claim is completed after its answer; where a kill came between, the row is there and the
   * claim is open, until the sweeper comes.
   */
  readonly killed?: boolean;
}

/** Nothing acknowledged is lost, nothing was done twice, the mirrors are true, and no answer was late or unreadable. */
export async function checkRig(rig: Rig, load: Load, options: CheckOptions = {}): Promise<void> {
  for (const till of rig.tills) await till.assertAlive();
  await load.end();
  assertAnswers(load.ledger.client.attempts, options.failures ?? [503]);
  const pool = openPool({ connectionString: rig.inspectionUrl, max: 2, application_name: 'check' });
  try {
    const db = {
      query: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
        (await pool.query<Row>(text, [...values])).rows,
    };
    await settle(rig, db);
    await assertEventsKept(rig.stripe, db);
    await assertMadeOnce(rig.stripe, load.ledger.made);
    await assertRowsAsPromised(db, load.ledger.made);
    await assertNoneHalfDone(db, options.killed ?? false);
    const intents = await all(rig.stripe.paymentIntents.list({ limit: 100 }));
    await assertMirrored(rig.stripe, db, {
      customers: new Set((await all(rig.stripe.customers.list({ limit: 100 }))).map(({ id }) => id)),
      paymentIntents: new Set(intents.filter(({ metadata }) => localIdKey in metadata).map(({ id }) => id)),
    });
    await assertTotals(rig, db);
  } finally {
    await pool.end();
  }
}

type Inspection = Parameters<typeof assertMirrored>[1];

function assertAnswers(attempts: readonly Attempt[], failures: readonly number[]): void {
  const late = attempts.filter(({ tookMs }) => tookMs > answerMsMax);
  assert.deepEqual(late.slice(0, 5), [], `${late.length} answers came late`);
  const isBad = ({ status, code, hasRetryAfter }: Attempt) => {
    if (code === unparseable) return true;
    if (status === 503 && !hasRetryAfter) return true;
    return (status === 0 || status >= 500) && !failures.includes(status);
  };
  const bad = attempts.filter(isBad);
  assert.deepEqual(bad.slice(0, 5), [], `${bad.length} answers of ${attempts.length} are not as promised`);
}

/** Every event delivered, every delivered event applied. */
async function settle(rig: Rig, db: Inspection): Promise<void> {
  for (let looks = 0; ; looks += 1) {
    // What Till refused is sent again now, and what it put off is due now: a test need not sit through the back-off.
    const delivery = await rig.control('delivery/flush');
    await db.query(
      `update till.webhook_events set next_try_at = now() where state = 'pending' and next_try_at > now()`,
    );
    const [row] = await db.query<{ pending: string }>(
      `select count(*) as pending from till.webhook_events where state = 'pending'`,
    );
    const waiting = (delivery as { endpoints: { waiting: number }[] }).endpoints;
    const left = waiting.reduce((sum, lane) => sum + lane.waiting, Number(row?.pending));
    if (left === 0) return;
    assert.ok(looks < looksMax, `${left} events are still not delivered or not applied`);
    await setTimeout(lookDelayMs);
  }
}

/** The processor believes every event delivered: each was answered with 200. So each must be there, and done with. */
async function assertEventsKept(stripe: Stripe, db: Inspection): Promise<void> {
  const rows = await db.query<{ id: string; state: string }>('select id, state from till.webhook_events');
  const states = new Map(rows.map(({ id, state }) => [id, state]));
  const events = await all(stripe.events.list({ limit: 100 }));
  const lost = events.filter(({ id }) => !['processed', 'ignored'].includes(states.get(id) ?? 'lost'));
  assert.deepEqual(
    lost.slice(0, 5).map(({ id, type }) => ({ id, type, state: states.get(id) })),
    [],
    `${lost.length} events of ${events.length} were acknowledged and are not done with`,
  );
}

/** Each request led to one object of the processor's, the acknowledged one. */
async function assertMadeOnce(stripe: Stripe, made: readonly Made[]): Promise<void> {
  const truth = await readMarks(stripe);
  for (const kind of Object.keys(truth) as MadeKind[]) {
    const own = made.filter((one) => one.kind === kind);
    const wrong = own.filter(({ mark, processorId }) => truth[kind].get(mark)?.join() !== processorId);
    assert.deepEqual(
      wrong.slice(0, 5).map((one) => ({ ...one, atProcessor: truth[kind].get(one.mark) })),
      [],
      `${wrong.length} of ${own.length} ${kind} are not exactly once at the processor`,
    );
    const twice = [...truth[kind]].filter(([, ids]) => ids.length > 1);
    assert.deepEqual(twice.slice(0, 5), [], `${twice.length} requests for ${kind} were carried out twice`);
  }
}

type Marks = Readonly<Record<MadeKind, ReadonlyMap<string, readonly string[]>>>;

async function readMarks(stripe: Stripe): Promise<Marks> {
  const limit = 100;
  const intents = await all(stripe.paymentIntents.list({ limit }));
  return {
    customers: grouped(await all(stripe.customers.list({ limit })), ({ email }) => email),
    plans: grouped(await all(stripe.prices.list({ limit, expand: ['data.product'] })), ({ product }) =>
      typeof product === 'object' && 'name' in product ? product.name : null,
    ),
    // Those behind invoices are the processor's own.
    payments: grouped(
      intents.filter(({ metadata }) => localIdKey in metadata),
      ({ amount }) => String(amount),
    ),
    refunds: grouped(await all(stripe.refunds.list({ limit })), ({ payment_intent: intent }) =>
      typeof intent === 'string' ? intent : (intent?.id ?? null),
    ),
    subscriptions: grouped(await all(stripe.subscriptions.list({ limit, status: 'all' })), ({ customer }) =>
      typeof customer === 'string' ? customer : customer.id,
    ),
  };
}

function grouped<T extends { readonly id: string }>(
  objects: readonly T[],
  markOf: (object: T) => string | null,
): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const object of objects) {
    const mark = markOf(object) ?? '';
    groups.set(mark, [...(groups.get(mark) ?? []), object.id]);
  }
  return groups;
}

const tables: Readonly<Record<MadeKind, string>> = {
  customers: 'select id, processor_customer_id as processor_id from till.customers',
  plans: 'select id, processor_price_id as processor_id from till.plans',
  payments: 'select id, processor_payment_intent_id as processor_id from till.payments',
  refunds: 'select id, processor_refund_id as processor_id from till.refunds',
  subscriptions: 'select id, processor_subscription_id as processor_id from till.subscriptions',
};

/** What was acknowledged is there under the very id that the client was told. */
async function assertRowsAsPromised(db: Inspection, made: readonly Made[]): Promise<void> {
  for (const [kind, sql] of Object.entries(tables)) {
    const rows = await db.query<{ id: string; processor_id: string }>(sql);
    const ids = new Map(rows.map((row) => [row.id, row.processor_id]));
    const lost = made.filter((one) => one.kind === kind && ids.get(one.id) !== one.processorId);
    assert.deepEqual(lost.slice(0, 5), [], `${lost.length} ${kind} were acknowledged and are lost`);
  }
}

/** Looks again for a while: the last completions are a moment behind their answers. */
async function assertNoneHalfDone(db: Inspection, killed: boolean): Promise<void> {
  const excused = killed ? 'and resource_id not in (select id from till.payments)' : '';
  const sql = `select * from till.idempotency_claims where completed_at is null ${excused}`;
  let open = await db.query(sql);
  for (let looks = 0; open.length > 0 && looks < completionLooksMax; looks += 1) {
    await setTimeout(lookDelayMs);
    open = await db.query(sql);
  }
  assert.deepEqual(open.slice(0, 5), [], `${open.length} creations are left half done`);
}

/** The counters behind the lists tell how many rows there are. */
async function assertTotals(rig: Rig, db: Inspection): Promise<void> {
  for (const list of ['customers', 'payments', 'subscriptions', 'invoices']) {
    const answer = await fetch(`${rig.url()}/api/v1/${list}?limit=1`, { headers: { 'x-api-key': testKey } });
    const { total } = (await answer.json()) as { readonly total: number };
    const [row] = await db.query<{ count: string }>(`select count(*) from till.${list}`);
    assert.equal(total, Number(row?.count), `the total of ${list}`);
  }
}
