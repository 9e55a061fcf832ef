import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import type { Stripe } from 'stripe';
import type { Sql } from '../../support/backend.ts';
import { assertEventsKept, eventsSettled } from '../../support/checks/events.ts';
import { assertMirrored, isOfTill, listAll, readMirroredIds } from '../../support/checks/mirrors.ts';
import { assertEventsComplete } from '../../support/checks/outbox.ts';
import type { CreatedKind, CreatedObject, Load } from './load.ts';
import { type Attempt, unparseable } from './load-client.ts';
import type { Rig } from './rig.ts';

/** The service responds within 30 s whatever happens; the rest is for a busy machine. */
const responseMsMax = 31_000;
/** Between two looks at claims that are completed in the background. */
const lookDelayMs = 50;
/** Two seconds: a failed completion is retried after one. */
const completionLooksMax = 40;

export interface CheckOptions {
  /** Statuses that the fault may cause besides 2xx and the refusals that a client met; 503 by default. */
  readonly failures?: readonly number[];
  /**
   * Processes were killed. A payment's claim is completed after its response. A kill between the two leaves the row
   * and an open claim, until the sweeper runs.
   */
  readonly killed?: boolean;
}

/**
 * Nothing acknowledged is lost, nothing was done twice, the mirrors are true, events report all of it, and no response
 * was late or unreadable.
 */
export async function checkRig(rig: Rig, load: Load, options: CheckOptions = {}): Promise<void> {
  for (const till of rig.tills) await till.assertAlive();
  await load.end();
  assertResponses(load.ledger.client.attempts, options.failures ?? [503]);
  const { stripe, sql } = rig;
  // Disputes follow their payments after a moment. Moving the clock by no time waits for them.
  await rig.control('clock', { advanceSeconds: 0 });
  await eventsSettled(rig, sql);
  await assertEventsKept(rig, sql);
  await assertCreatedOnce(stripe, load.ledger.made);
  await assertRowsAsPromised(sql, load.ledger.made);
  await assertNoneHalfDone(sql, options.killed ?? false);
  await assertMirrored(stripe, sql, await readMirroredIds(stripe));
  await assertTotals(rig);
  await assertEventsComplete(rig.client, sql);
}

function assertResponses(attempts: readonly Attempt[], failures: readonly number[]): void {
  const late = attempts.filter(({ tookMs }) => tookMs > responseMsMax);
  assert.deepEqual(late.slice(0, 5), [], `${late.length} responses came late`);
  const isBad = ({ status, code, hasRetryAfter }: Attempt) => {
    if (code === unparseable) return true;
    if (status === 503 && !hasRetryAfter) return true;
    return (status === 0 || status >= 500) && !failures.includes(status);
  };
  const bad = attempts.filter(isBad);
  assert.deepEqual(bad.slice(0, 5), [], `${bad.length} responses of ${attempts.length} are not as promised`);
}

/** Each request led to one object of the processor's, the acknowledged one. */
async function assertCreatedOnce(stripe: Stripe, created: readonly CreatedObject[]): Promise<void> {
  const truth = await readMarks(stripe);
  for (const kind of Object.keys(truth) as CreatedKind[]) {
    const own = created.filter((one) => one.kind === kind);
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

type Marks = Readonly<Record<CreatedKind, ReadonlyMap<string, readonly string[]>>>;

async function readMarks(stripe: Stripe): Promise<Marks> {
  const limit = 100;
  const intents = await listAll(stripe.paymentIntents.list({ limit }));
  return {
    customers: grouped(await listAll(stripe.customers.list({ limit })), ({ email }) => email),
    plans: grouped(await listAll(stripe.prices.list({ limit, expand: ['data.product'] })), ({ product }) =>
      typeof product === 'object' && 'name' in product ? product.name : null,
    ),
    // Those behind invoices are the processor's own.
    payments: grouped(intents.filter(isOfTill), ({ amount }) => String(amount)),
    // Of the amount that was asked for.
    captures: grouped(
      intents.filter(({ status, capture_method }) => status === 'succeeded' && capture_method === 'manual'),
      ({ id, amount_received }) => `${id} ${amount_received}`,
    ),
    // The processor's own refunds release what was authorised and not captured.
    refunds: grouped(
      (await listAll(stripe.refunds.list({ limit }))).filter(isOfTill),
      ({ payment_intent: intent }) => (typeof intent === 'string' ? intent : (intent?.id ?? null)),
    ),
    subscriptions: grouped(
      await listAll(stripe.subscriptions.list({ limit, status: 'all' })),
      ({ customer }) => (typeof customer === 'string' ? customer : customer.id),
    ),
    // Those of trials are the processor's own.
    setups: grouped((await listAll(stripe.setupIntents.list({ limit }))).filter(isOfTill), ({ customer }) =>
      typeof customer === 'string' ? customer : (customer?.id ?? null),
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

/** A setup of a card and a capture have no rows of their own. */
const tables: Readonly<Record<Exclude<CreatedKind, 'setups' | 'captures'>, string>> = {
  customers: 'select id, processor_customer_id as processor_id from till.customers',
  plans: 'select id, processor_price_id as processor_id from till.plans',
  payments: 'select id, processor_payment_intent_id as processor_id from till.payments',
  refunds: 'select id, processor_refund_id as processor_id from till.refunds',
  subscriptions: 'select id, processor_subscription_id as processor_id from till.subscriptions',
};

/** What was acknowledged exists with the id that the client got. */
async function assertRowsAsPromised(sql: Sql, created: readonly CreatedObject[]): Promise<void> {
  for (const [kind, text] of Object.entries(tables)) {
    const rows = await sql<{ id: string; processor_id: string }>(text);
    const ids = new Map(rows.map((row) => [row.id, row.processor_id]));
    const lost = created.filter((one) => one.kind === kind && ids.get(one.id) !== one.processorId);
    assert.deepEqual(lost.slice(0, 5), [], `${lost.length} ${kind} were acknowledged and are lost`);
  }
}

/** Checks again for a while: the last completions are a moment behind their responses. */
async function assertNoneHalfDone(sql: Sql, killed: boolean): Promise<void> {
  const excused = killed ? 'and resource_id not in (select id from till.payments)' : '';
  const text = `select * from till.idempotency_claims where completed_at is null ${excused}`;
  let open = await sql(text);
  for (let looks = 0; open.length > 0 && looks < completionLooksMax; looks += 1) {
    await setTimeout(lookDelayMs);
    open = await sql(text);
  }
  assert.deepEqual(open.slice(0, 5), [], `${open.length} creations are left half done`);
}

/** The counters of the lists equal the numbers of rows. */
async function assertTotals({ client, sql }: Rig): Promise<void> {
  for (const list of ['customers', 'payments', 'subscriptions', 'invoices']) {
    const { total } = await client.get<{ readonly total: number }>(`/${list}?limit=1`);
    // What subscriptions charged is in the list only on request.
    const only = list === 'payments' ? 'processor_invoice_id is null' : 'true';
    const [row] = await sql<{ count: number }>(`select count(*) from till.${list} where ${only}`);
    assert.equal(total, row?.count, `the total of ${list}`);
  }
}
