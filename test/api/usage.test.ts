import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { type CustomerBody, createCustomer, createPlan } from '../support/objects.ts';
import { subscribe } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';
import {
  consumeUsage,
  createMeter,
  type MeterBody,
  readUsage,
  recordUsage,
  type UsageBody,
  usageOf,
} from '../support/usage.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const dayMs = 86_400_000;
const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';

/** A time relative to now. */
function ago(ms: number): string {
  return new Date(Date.now() - ms).toISOString();
}

/** A customer with a subscription that grants a meter. */
async function setUp(limit: number | true): Promise<{ customer: CustomerBody; meter: MeterBody }> {
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const plan = await createPlan(till, { features: { [meter.key]: limit } });
  await subscribe(till, { plan, customerId: customer.id });
  return { customer, meter };
}

async function limitEvents(customer: CustomerBody): Promise<readonly Record<string, unknown>[]> {
  const { data } = await till.get<{ data: Record<string, unknown>[] }>(
    `/events?types=usage.limit_reached&customerId=${customer.id}`,
  );
  return data;
}

describe('POST /usage', () => {
  test('200: each event counts once, however often and in whatever batches it is sent', async () => {
    const { customer, meter } = await setUp(100);
    const events = [5, 7, 1].map((quantity) => usageOf(customer, meter, { quantity }));
    const [first, second, third] = events as [UsageBody, UsageBody, UsageBody];
    assert.deepEqual(await recordUsage(till, first, second), { recorded: 2, duplicates: 0, rejected: [] });
    assert.deepEqual(await recordUsage(till, third, first, third), {
      ...{ recorded: 1, duplicates: 2, rejected: [] },
    });
    assert.deepEqual(await recordUsage(till, ...events), { recorded: 0, duplicates: 3, rejected: [] });
    const { used, limit, remaining } = (await readUsage(till, customer, meter)) ?? {};
    assert.deepEqual([used, limit, remaining], [13, 100, 87]);
  });

  test('200: a negative quantity corrects, and the default quantity is 1', async () => {
    const { customer, meter } = await setUp(10);
    const event = usageOf(customer, meter);
    await recordUsage(till, event, usageOf(customer, meter, { quantity: 4 }));
    await recordUsage(till, usageOf(customer, meter, { quantity: -3 }));
    assert.equal((await readUsage(till, customer, meter))?.used, 2);
    assert.deepEqual(await recordUsage(till, { ...event, quantity: 1 }), {
      ...{ recorded: 0, duplicates: 1, rejected: [] },
    });
  });

  test('200: one bad event spoils no other', async () => {
    const { customer, meter } = await setUp(10);
    const good = usageOf(customer, meter);
    const bad: readonly [Partial<UsageBody>, string][] = [
      [{ customerId: unknownId }, 'customer_not_found'],
      [{ meter: 'no-such-meter' }, 'meter_not_found'],
      [{ meter: 'No Such Meter' }, 'meter_not_found'],
      [{ at: ago(36 * dayMs) }, 'too_old'],
      [{ at: ago(-6 * 60_000) }, 'in_future'],
    ];
    const events = bad.map(([change]) => usageOf(customer, meter, change));
    const result = await recordUsage(till, ...events, good);
    assert.deepEqual(result, {
      ...{ recorded: 1, duplicates: 0 },
      rejected: bad.map(([, code], index) => ({ index, id: events[index]?.id, code })),
    });
    const edges = [ago(-4 * 60_000), ago(35 * dayMs - 60_000)].map((at) => usageOf(customer, meter, { at }));
    assert.equal((await recordUsage(till, ...edges)).recorded, 2);
  });

  test('200: an id with other content is rejected, and on another day it is another event', async () => {
    const { customer, meter } = await setUp(10);
    const other = await createCustomer(till);
    const noon = new Date(Date.now() - dayMs).setUTCHours(12, 0, 0, 0);
    const first = usageOf(customer, meter, { at: new Date(noon).toISOString(), quantity: 2 });
    await recordUsage(till, first);
    const changes: readonly Partial<UsageBody>[] = [
      { quantity: 3 },
      { at: new Date(noon + 1).toISOString() },
      { customerId: other.id },
      { meter: (await createMeter(till)).key },
    ];
    const events = changes.map((change) => ({ ...first, ...change }));
    const { recorded, duplicates, rejected } = await recordUsage(till, ...events, first);
    assert.deepEqual([recorded, duplicates], [0, 1]);
    assert.deepEqual(
      rejected.map(({ index, code }) => [index, code]),
      changes.map((_, index) => [index, 'id_reused']),
    );
    const tomorrow = { ...first, at: new Date(noon + dayMs / 2).toISOString() };
    assert.equal((await recordUsage(till, tomorrow)).recorded, 1);
    const sameInstant = { ...first, at: first.at.replace('T12:00:00.000Z', 'T14:00:00+02:00') };
    assert.deepEqual(await recordUsage(till, sameInstant), { recorded: 0, duplicates: 1, rejected: [] });
  });

  test('200: within a batch, the first event with an id counts', async () => {
    const { customer, meter } = await setUp(10);
    const first = usageOf(customer, meter, { quantity: 2 });
    const { recorded, duplicates, rejected } = await recordUsage(till, first, first, {
      ...first,
      quantity: 3,
    });
    assert.deepEqual(
      [recorded, duplicates, rejected],
      [1, 1, [{ index: 2, id: first.id, code: 'id_reused' }]],
    );
    assert.equal((await readUsage(till, customer, meter))?.used, 2);
  });

  test('200: a customer is named by externalId too', async () => {
    const meter = await createMeter(till);
    const customer = await createCustomer(till, { externalId: `user-${randomUUID()}` });
    const { customerId: _, ...event } = usageOf(customer, meter);
    const byExternalId = { ...event, externalId: customer.externalId ?? '' };
    await recordUsage(till, byExternalId);
    const again = await recordUsage(till, { ...event, customerId: customer.id.toUpperCase() });
    assert.deepEqual(again, { recorded: 0, duplicates: 1, rejected: [] });
    assert.equal((await readUsage(till, customer, meter))?.used, 1);
  });

  test('200: a thousand events of one customer are one batch', async () => {
    const { customer, meter } = await setUp(10_000);
    const events = Array.from({ length: 1_000 }, () => usageOf(customer, meter, { quantity: 3 }));
    const results = await Promise.all([
      recordUsage(till, ...events),
      recordUsage(till, ...events.toReversed()),
    ]);
    assert.deepEqual(
      results.map(({ recorded }) => recorded).toSorted((a, b) => a - b),
      [0, 1_000],
    );
    assert.equal((await readUsage(till, customer, meter))?.used, 3_000);
  });

  test('200: the largest valid batch, however its text is encoded', async () => {
    const meter = await createMeter(till, { key: `m${randomUUID()}`.padEnd(64, 'x') });
    const externalId = '\u{1f600}'.repeat(255);
    await createCustomer(till, { externalId });
    const at = '2000-01-01T00:00:00.000000+00:00';
    const events = Array.from({ length: 1_000 }, (_, index) => ({
      ...{
        id: `${1_000 + index}${'\u{1f600}'.repeat(251)}`,
        externalId,
        meter: meter.key,
        quantity: -1e12,
        at,
      },
    }));
    const { rejected } = await recordUsage(till, ...events);
    assert.ok(rejected.length === 1_000 && rejected.every(({ code }) => code === 'too_old'));
    const tooLarge = await till.tryPost('/usage', { events, padding: 'x'.repeat(4_194_304) });
    assert.deepEqual([tooLarge.status, tooLarge.body['code']], [413, 'payload_too_large']);
    assert.match(String(tooLarge.body['detail']), /4194304 bytes/);
    const other = await till.tryPost('/usage/consume', { padding: 'x'.repeat(1_048_576) });
    assert.match(String(other.body['detail']), /1048576 bytes/);
  });

  test('200: a time finer than a microsecond stays on its day', async () => {
    const { customer, meter } = await setUp(10);
    const day = new Date(Date.now() - 2 * dayMs).toISOString().slice(0, 10);
    await recordUsage(till, usageOf(customer, meter, { at: `${day}T23:59:59.9999999Z` }));
    const { data } = await till.get<{ data: unknown[] }>(
      `/usage?customerId=${customer.id}&meter=${meter.key}`,
    );
    assert.deepEqual(data, [{ date: day, quantity: 1 }]);
  });

  test('400: a malformed event is named by its index', async () => {
    const { customer, meter } = await setUp(10);
    const good = usageOf(customer, meter);
    const cases: readonly [object, string][] = [
      [{ ...good, at: undefined }, 'body.events[1].at'],
      [{ ...good, customerId: undefined }, 'body.events[1].customerId'],
      [{ ...good, externalId: 'x' }, 'body.events[1].customerId'],
    ];
    for (const [event, path] of cases) {
      const { status, body } = await till.tryPost('/usage', { events: [good, event] });
      assert.deepEqual([status, body['code']], [400, 'invalid_request']);
      assert.ok(
        (body['errors'] as { path: string }[]).some((mistake) => mistake.path === path),
        JSON.stringify(body),
      );
    }
    for (const [path, body] of [
      ['/usage', { events: [{ ...good, id: 'a b' }] }],
      ['/usage/consume', { ...good, id: 'a b' }],
    ] as const)
      assert.match(
        String((await till.tryPost(path, body)).body['detail']),
        /id must have only visible characters$/,
      );
    assert.equal((await readUsage(till, customer, meter))?.used, 0, 'a malformed batch has no effect');
  });

  test('the limit is reached once in a window, and its event says so', async () => {
    const { customer, meter } = await setUp(10);
    await recordUsage(till, usageOf(customer, meter, { quantity: 9 }));
    assert.deepEqual(await limitEvents(customer), []);
    await recordUsage(till, usageOf(customer, meter, { quantity: 2 }));
    await recordUsage(till, usageOf(customer, meter, { quantity: -5 }));
    await recordUsage(till, usageOf(customer, meter, { quantity: 6 }));
    const [event, ...more] = await limitEvents(customer);
    assert.deepEqual(more, []);
    const { periodStart, periodEnd } = (await readUsage(till, customer, meter)) ?? {};
    assert.deepEqual(
      [event?.['objectType'], event?.['objectId'], event?.['customerId'], event?.['previous']],
      ['meter', meter.id, customer.id, {}],
    );
    assert.deepEqual(event?.['data'], { meter: meter.key, used: 11, limit: 10, periodStart, periodEnd });
    assert.equal(Object(event?.['cause']).kind, 'api');
  });
});

describe('POST /usage/consume', () => {
  test('200: it counts only what fits', async () => {
    const { customer, meter } = await setUp(10);
    const consume = (quantity: number) => consumeUsage(till, usageOf(customer, meter, { quantity }));
    const { resetsAt, ...first } = await consume(7);
    assert.deepEqual(first, { allowed: true, used: 7, limit: 10, remaining: 3 });
    const refused = await consume(4);
    assert.deepEqual(refused, { allowed: false, used: 7, limit: 10, remaining: 3, resetsAt });
    assert.deepEqual(await limitEvents(customer), []);
    assert.equal((await consume(3)).allowed, true);
    assert.equal((await consume(1)).allowed, false);
    const usage = await readUsage(till, customer, meter);
    assert.deepEqual([usage?.used, usage?.remaining, usage?.periodEnd], [10, 0, resetsAt]);
    assert.equal((await limitEvents(customer)).length, 1);
  });

  test('200: the same id again is allowed and counted once, with the numbers of now', async () => {
    const { customer, meter } = await setUp(2);
    const event = usageOf(customer, meter);
    await consumeUsage(till, event);
    await consumeUsage(till, usageOf(customer, meter));
    const { resetsAt: _, ...again } = await consumeUsage(till, event);
    assert.deepEqual(again, { allowed: true, used: 2, limit: 2, remaining: 0 });
    assert.equal((await readUsage(till, customer, meter))?.used, 2);
  });

  test('200: a refusal is not remembered', async () => {
    const { customer, meter } = await setUp(1);
    const [first, second] = [usageOf(customer, meter), usageOf(customer, meter)];
    await consumeUsage(till, first);
    assert.equal((await consumeUsage(till, second)).allowed, false);
    await recordUsage(till, usageOf(customer, meter, { quantity: -1 }));
    assert.equal((await consumeUsage(till, second)).allowed, true);
  });

  test('200: true is no limit, and without a subscription the limit is 0', async () => {
    const { customer, meter } = await setUp(true);
    const { resetsAt: _, ...consumed } = await consumeUsage(
      till,
      usageOf(customer, meter, { quantity: 1e12 }),
    );
    assert.deepEqual(consumed, { allowed: true, used: 1e12, limit: null, remaining: null });
    assert.deepEqual(await limitEvents(customer), []);
    const without = await createCustomer(till);
    const { resetsAt, ...refused } = await consumeUsage(till, usageOf(without, meter));
    assert.deepEqual(refused, { allowed: false, used: 0, limit: 0, remaining: 0 });
    const now = new Date();
    const nextMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
    assert.equal(resetsAt, new Date(nextMonth).toISOString());
  });

  test('200: of fifty requests at once with ten left, ten are allowed', async () => {
    const { customer, meter } = await setUp(10);
    const consumed = await Promise.all(
      Array.from({ length: 50 }, () => consumeUsage(till, usageOf(customer, meter))),
    );
    assert.equal(consumed.filter(({ allowed }) => allowed).length, 10);
    assert.equal((await readUsage(till, customer, meter))?.used, 10);
    assert.equal((await limitEvents(customer)).length, 1);
    const { data } = await till.get<{ data: unknown[] }>(`/usage/events?customerId=${customer.id}`);
    assert.equal(data.length, 10, 'a refused event leaves nothing behind');
  });

  test('200: the same id fifty times at once counts once', async () => {
    const { customer, meter } = await setUp(10);
    const event = usageOf(customer, meter);
    const consumed = await Promise.all(Array.from({ length: 50 }, () => consumeUsage(till, event)));
    assert.ok(consumed.every(({ allowed, used }) => allowed && used === 1));
    const other = usageOf(customer, meter);
    const others = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        till.tryPost('/usage/consume', { ...other, quantity: 1 + (index % 2) }),
      ),
    );
    const statuses = others.map(({ status }) => status);
    assert.deepEqual([statuses.filter((status) => status === 200).length, statuses.length], [5, 10]);
    assert.ok(others.every(({ status, body }) => status === 200 || body['code'] === 'id_reused'));
  });

  test('409: an id with other content, also one of POST /usage', async () => {
    const { customer, meter } = await setUp(2);
    const event = usageOf(customer, meter);
    await recordUsage(till, event);
    assert.deepEqual((await consumeUsage(till, event)).allowed, true);
    assert.equal((await readUsage(till, customer, meter))?.used, 1);
    for (const quantity of [2, 1_000]) {
      const refused = await till.tryPost('/usage/consume', { ...event, quantity });
      assert.deepEqual([refused.status, refused.body['code']], [409, 'id_reused']);
    }
  });

  test('404 and 400: an unknown customer or meter, and malformed values', async () => {
    const { customer, meter } = await setUp(2);
    const event = usageOf(customer, meter);
    const statusOf = async (change: object) =>
      (await till.tryPost('/usage/consume', { ...event, ...change })).status;
    assert.equal(await statusOf({ customerId: unknownId }), 404);
    assert.equal(await statusOf({ meter: 'no-such-meter' }), 404);
    for (const change of [
      { quantity: 0 },
      { quantity: -1 },
      { at: ago(61 * 60_000) },
      { at: ago(-6 * 60_000) },
      { at: undefined },
      { customerId: undefined },
    ])
      assert.equal(await statusOf(change), 400, JSON.stringify(change));
    assert.equal(await statusOf({ at: ago(59 * 60_000) }), 200);
  });
});

test('what was counted before its meter was archived is a duplicate, however often it is sent', async () => {
  const { customer, meter } = await setUp(10);
  const [recorded, consumed] = [usageOf(customer, meter), usageOf(customer, meter)];
  await recordUsage(till, recorded);
  await consumeUsage(till, consumed);
  await till.post(`/meters/${meter.id}/archive`);
  const never = usageOf(customer, meter);
  assert.deepEqual(await recordUsage(till, never, recorded, { ...recorded, quantity: 2 }, consumed), {
    recorded: 0,
    duplicates: 2,
    rejected: [
      { index: 0, id: never.id, code: 'meter_archived' },
      { index: 2, id: recorded.id, code: 'id_reused' },
    ],
  });
  const again = await consumeUsage(till, consumed);
  assert.deepEqual([again.allowed, again.used], [true, 2]);
  const reused = await till.tryPost('/usage/consume', { ...consumed, quantity: 2 });
  assert.deepEqual([reused.status, reused.body['code']], [409, 'id_reused']);
  assert.equal((await till.tryPost('/usage/consume', never)).body['code'], 'meter_archived');
});

describe('GET /usage', () => {
  test('200: the sums of the days, and the events behind them', async () => {
    const { customer, meter } = await setUp(10);
    const other = await createMeter(till);
    const noon = new Date(Date.now() - 3 * dayMs).setUTCHours(12, 0, 0, 0);
    const at = (days: number) => new Date(noon + days * dayMs).toISOString();
    const events = [0, 0, 1, 2].map((days, index) =>
      usageOf(customer, meter, { at: at(days), quantity: index + 1 }),
    );
    await recordUsage(till, ...events, usageOf(customer, other, { at: at(0) }));
    const day = (days: number) => at(days).slice(0, 10);
    const path = `/usage?customerId=${customer.id}&meter=${meter.key}`;
    assert.deepEqual(await till.get(`${path}&from=${day(0)}&to=${day(2)}`), {
      data: [
        { date: day(0), quantity: 3 },
        { date: day(1), quantity: 3 },
      ],
    });
    const { data } = await till.get<{ data: unknown[] }>(path);
    assert.equal(data.length, 3);
    type Page = { data: { id: string; createdAt: string }[]; nextCursor: string | null };
    const list = `/usage/events?customerId=${customer.id}&meter=${meter.key}&limit=1`;
    const seen: string[] = [];
    let cursor: string | null = '';
    do {
      const page: Page = await till.get(`${list}${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    assert.deepEqual(seen.toSorted(), events.map(({ id }) => id).toSorted());
    assert.equal(seen[0], events[3]?.id, 'the latest first');
    const all = await till.get<Page>(`/usage/events?customerId=${customer.id}`);
    assert.equal(all.data.length, 5);
    const { createdAt, ...shown } = all.data[0] ?? { createdAt: '' };
    assert.deepEqual(shown, { ...events[3], customerId: customer.id, meter: meter.key });
    assert.ok(createdAt > (events[3]?.at ?? ''));
  });

  test('200: a walk that began before midnight ends with the days that it began with', async (t) => {
    const startMs = Date.now();
    let aheadMs = 0;
    const clock = { now: () => new Date(startMs + aheadMs) };
    const till = await startTill({ in: 'process', for: t, clock });
    const [customer, meter] = [await createCustomer(till), await createMeter(till)];
    const events = [29 * dayMs, 0].map((ms) =>
      usageOf(customer, meter, { at: new Date(startMs - ms).toISOString() }),
    );
    await recordUsage(till, ...events);
    const list = `/usage/events?customerId=${customer.id}&limit=1`;
    const { nextCursor } = await till.get<{ nextCursor: string }>(list);
    aheadMs = dayMs;
    const next = await till.get<{ data: { id: string }[] }>(`${list}&cursor=${nextCursor}`);
    assert.deepEqual(
      next.data.map(({ id }) => id),
      [events[0]?.id],
    );
    aheadMs = 2 * dayMs;
    const late = await till.tryGet(`${list}&cursor=${nextCursor}`);
    assert.deepEqual([late.status, late.body['code']], [400, 'invalid_request']);
  });

  test('400 and 404: unknown objects, and days that make no sense', async () => {
    const { customer, meter } = await setUp(10);
    const path = `/usage?customerId=${customer.id}&meter=${meter.key}`;
    assert.deepEqual(await till.get(`${path}&to=0001-01-01`), { data: [] });
    for (const query of ['&from=2026-02-02&to=2026-02-01', '&from=2020-01-01'])
      assert.equal((await till.tryGet(`${path}${query}`)).status, 400, query);
    assert.equal((await till.tryGet(`/usage?customerId=${unknownId}&meter=${meter.key}`)).status, 404);
    assert.equal((await till.tryGet(`/usage?customerId=${customer.id}&meter=none`)).status, 404);
    assert.equal((await till.tryGet(`/usage/events?customerId=${unknownId}`)).status, 404);
    assert.equal((await till.tryGet(`/usage/events?customerId=${customer.id}&cursor=x`)).status, 400);
  });
});
