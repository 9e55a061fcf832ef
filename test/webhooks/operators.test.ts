import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { createPaidPayment, createPayment, readPayment, readRefunds } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';
import { holdRows } from './row-lock.ts';

interface EventResponse {
  readonly id: string;
  readonly type: string;
  readonly objectId: string | null;
  readonly state: string;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly createdAt: string;
  readonly nextTryAt: string | null;
  readonly processedAt: string | null;
  readonly payload?: unknown;
}

interface ListResponse {
  readonly data: readonly EventResponse[];
  readonly total: number;
  readonly page: number;
  readonly limit: number;
}

const counters = [
  'webhook_events_processed_total',
  'webhook_events_ignored_total',
  'webhook_events_failed_total',
  'payments_succeeded_total',
  'payments_failed_total',
  'payments_disputed_total',
];

async function countAll(till: TillInProcess): Promise<readonly number[]> {
  return Promise.all(counters.map((name) => till.count(name)));
}

async function replay(till: TillInProcess, event: string): Promise<EventResponse> {
  const response = await till.fetch(`/api/v1/webhook-events/${idOf(event)}/replay`, { method: 'POST' });
  assert.equal(response.status, 200);
  return (await response.json()) as EventResponse; // Its fields are what the tests look at.
}

describe('the list of events', () => {
  test('is newest first, in pages, and can be narrowed by state, type and object', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const at = Math.floor(Date.now() / 1_000) - 100;
    const paid = [0, 1, 2].map((index) =>
      eventOf('invoice.paid.newer', { id: `in_${index}` }, { id: `evt_paid_${index}`, created: at + index }),
    );
    // Of one second: the order among them is that of their ids.
    const odd = eventOf('invoice.paid.newer', { id: 'in_0', status: 'lost' }, { id: 'evt_odd', created: at });
    const other = eventOf('balance.available', {}, { id: 'evt_other', created: at - 1 });
    await till.take(...paid, odd, other);
    const waiting = eventOf('invoice.deleted', { id: 'in_0' }, { id: 'evt_waiting', created: at + 9 });
    await till.send(waiting);
    const ids = async (query: string) => {
      const { data, total } = await till.get<ListResponse>(`/webhook-events${query}`);
      assert.equal(total, data.length);
      return data.map(({ id }) => id);
    };
    const all = ['evt_waiting', 'evt_paid_2', 'evt_paid_1', 'evt_paid_0', 'evt_odd', 'evt_other'];
    assert.deepEqual(await ids(''), all);
    assert.deepEqual(await ids('?state=processed'), ['evt_paid_2', 'evt_paid_1', 'evt_paid_0']);
    assert.deepEqual(await ids('?state=failed'), ['evt_odd']);
    assert.deepEqual(await ids('?state=ignored'), ['evt_other']);
    assert.deepEqual(await ids('?state=pending'), ['evt_waiting']);
    assert.deepEqual(await ids('?type=invoice.deleted'), ['evt_waiting']);
    assert.deepEqual(await ids('?objectId=in_0'), ['evt_waiting', 'evt_paid_0', 'evt_odd']);
    assert.deepEqual(await ids('?objectId=in_0&type=invoice.paid&state=failed'), ['evt_odd']);
    assert.deepEqual(await ids('?type=made.up'), []);
    const pages = await Promise.all(
      [1, 2, 3, 4].map((page) => till.get<ListResponse>(`/webhook-events?limit=2&page=${page}`)),
    );
    assert.deepEqual(
      pages.flatMap(({ data }) => data.map(({ id }) => id)),
      all,
    );
    assert.deepEqual(
      pages.map(({ total, page, limit }) => [total, page, limit]),
      [
        [6, 1, 2],
        [6, 2, 2],
        [6, 3, 2],
        [6, 4, 2],
      ],
    );
  });

  test('refuses unknown parameters, and requests without an API key', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    for (const query of ['state=lost', 'page=0', 'limit=101', 'object=in_1']) {
      await readProblem(await till.fetch(`/api/v1/webhook-events?${query}`), 400, 'invalid_request');
    }
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/evt_1'],
      ['POST', '/evt_1/replay'],
    ] as const) {
      const response = await fetch(`${till.url}/api/v1/webhook-events${path}`, { method });
      await readProblem(response, 401, 'unauthorized');
    }
  });
});

describe('one event', () => {
  test('shows its payload without secrets, its attempts and its error', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const { customerId, ...payment } = await createPayment(till);
    const object = {
      id: payment.processorPaymentIntentId,
      status: 'half_paid',
      metadata: { till_id: payment.id },
    };
    const event = eventOf('payment_intent.requires_action', object);
    await till.take(event);
    const shown = await till.get<EventResponse>(`/webhook-events/${idOf(event)}`);
    assert.deepEqual([shown.state, shown.attempts, shown.nextTryAt], ['failed', 1, null]);
    assert.match(shown.lastError ?? '', /half_paid/);
    assert.equal(shown.objectId, payment.processorPaymentIntentId);
    assert.doesNotMatch(JSON.stringify(shown), /hush/);
    const sent = JSON.parse(event);
    const redacted = { ...sent.data.object, client_secret: null };
    const { next_action: _, ...rest } = redacted;
    const stored = shown.payload as { data: { object: Record<string, unknown> } };
    const { next_action: __, ...storedRest } = stored.data.object;
    assert.deepEqual(storedRest, rest);
  });

  test('while it is pending, shows when the next attempt is', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const event = eventOf('invoice.paid.newer');
    await till.send(event);
    const shown = await till.get<EventResponse>(`/webhook-events/${idOf(event)}`);
    assert.deepEqual([shown.state, shown.attempts, shown.processedAt], ['pending', 0, null]);
    assert.ok(Date.parse(shown.nextTryAt ?? '') <= Date.now());
  });

  test('that does not exist is a 404, whatever its id looks like', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    for (const id of ['evt_unknown', randomUUID(), 'a%20b', '%F0%9F%92%B3', '%00', 'evt_%00']) {
      await readProblem(await till.fetch(`/api/v1/webhook-events/${id}`), 404, 'not_found');
      const again = await till.fetch(`/api/v1/webhook-events/${id}/replay`, { method: 'POST' });
      await readProblem(again, 404, 'not_found');
    }
  });
});

describe('a replay', () => {
  test('of an event that was processed, ignored on arrival or ignored later changes no row and no counter', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const payment = await createPaidPayment(till);
    await till.settle();
    const intent = { id: payment.processorPaymentIntentId, metadata: { till_id: payment.id } };
    const events = [
      eventOf('payment_intent.succeeded', intent),
      eventOf('payment_intent.payment_failed', intent, { created: 1 }),
      eventOf('payment_intent.succeeded', { id: 'pi_stranger', metadata: {} }),
      eventOf('balance.available'),
      eventOf('invoice.paid.newer', { id: undefined }),
    ];
    await till.take(...events);
    const before = [await readPayment(till, payment), await countAll(till)];
    for (const event of events) {
      const { state } = await till.get<EventResponse>(`/webhook-events/${idOf(event)}`);
      const { processedAt } = await till.get<EventResponse>(`/webhook-events/${idOf(event)}`);
      assert.ok(processedAt !== null);
      const back = await replay(till, event);
      assert.deepEqual([back.state, back.attempts], ['pending', 0]);
      await till.drain();
      const after = await till.get<EventResponse>(`/webhook-events/${idOf(event)}`);
      assert.deepEqual([after.state, after.processedAt], [state, processedAt]);
    }
    assert.deepEqual([await readPayment(till, payment), await countAll(till)], before);
  });

  test('of a pending event is attempted at once and counted once', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const event = eventOf('invoice.paid.newer');
    await till.send(event);
    await till.sql(
      `update till.webhook_events set next_try_at = now() + interval '1 hour', attempts = 3, last_error = 'x'`,
    );
    assert.equal(await till.services.eventApplier.applyBatch(), 0);
    await replay(till, event);
    await replay(till, event);
    await till.drain();
    const { state, attempts, lastError } = await till.get<EventResponse>(`/webhook-events/${idOf(event)}`);
    assert.deepEqual([state, attempts, lastError], ['processed', 1, null]);
    assert.equal(await till.count('webhook_events_processed_total'), 1);
  });

  test('of an event whose object is being read from the processor leaves it applied and counted once', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const payment = await createPaidPayment(till);
    await till.settle();
    await till.control('delivery', { mode: 'drop' });
    const payment_intent = payment.processorPaymentIntentId;
    await till.stripe.refunds.create({ payment_intent });
    const event = eventOf('charge.refunded.newer', { payment_intent });
    await till.send(event);
    const before = await till.count('webhook_events_processed_total');
    const lock = await holdRows(till, `select from till.payments where id = '${payment.id}' for update`);
    const first = till.services.eventApplier.applyBatch();
    await lock.awaited(1);
    await replay(till, event);
    const second = till.services.eventApplier.applyBatch();
    await lock.awaited(2);
    await lock.release();
    assert.deepEqual(await Promise.all([first, second]), [1, 1]);
    assert.equal((await readRefunds(till, payment)).length, 1);
    assert.equal((await readPayment(till, payment)).status, 'refunded');
    assert.equal(await till.count('webhook_events_processed_total'), before + 1);
  });
});

test('an event about several objects that must be read is counted once, and only when all are settled', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const payment = await createPaidPayment(till);
  await till.settle();
  const payment_intent = payment.processorPaymentIntentId;
  const refunds = [
    await till.stripe.refunds.create({ payment_intent, amount: 700 }),
    await till.stripe.refunds.create({ payment_intent, amount: 800 }),
  ];
  await till.settle();
  const before = await till.count('webhook_events_processed_total');
  // In the second of the rows' last update, but different: only the processor knows which is the last.
  const [row] = await till.sql<{ at: number }>(
    'select extract(epoch from max(processor_as_of))::int as at from till.refunds',
  );
  await till.sql('update till.refunds set processor_as_of = to_timestamp($1)', [row?.at]);
  const data = refunds.map((refund) => ({ ...refund, status: 'pending' }));
  const event = eventOf(
    'charge.refunded.older',
    { payment_intent, refunds: { object: 'list', data, has_more: false } },
    { created: row?.at },
  );
  await till.take(event);
  assert.deepEqual(
    (await readRefunds(till, payment)).map(({ status }) => status),
    ['succeeded', 'succeeded'],
  );
  assert.equal(await till.count('webhook_events_processed_total'), before + 1);
});

describe('replaying all failed events', () => {
  test('puts them into the queue again, and leaves the others alone', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const odd = ['a', 'b'].map((name) =>
      eventOf('invoice.paid.newer', { id: `in_${name}`, status: 'lost' }, { id: `evt_${name}` }),
    );
    await till.take(...odd, eventOf('balance.available', {}, { id: 'evt_other' }));
    const replayed = await till.post<{ replayed: number; hasMore: boolean }>('/webhook-events/replay-failed');
    assert.deepEqual(replayed, { replayed: 2, hasMore: false });
    const { data } = await till.get<ListResponse>('/webhook-events?state=pending');
    assert.deepEqual(data.map(({ id, attempts }) => [id, attempts]).sort(), [
      ['evt_a', 0],
      ['evt_b', 0],
    ]);
    await till.drain();
    assert.equal((await till.get<ListResponse>('/webhook-events?state=failed')).total, 2);
  });
});
