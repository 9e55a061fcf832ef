/** The processor may record what was authorised and not captured as a refund, although no one received the money. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertEventsComplete, readEvents } from '../support/checks/outbox.ts';
import { assertOverviewExact } from '../support/checks/overview.ts';
import { readJson } from '../support/client.ts';
import { makePayer } from '../support/foreign-account.ts';
import { runImport } from '../support/imports.ts';
import {
  confirmPayment,
  createPaidPayment,
  createPayment,
  type PageBody,
  type PaymentBody,
  type RefundBody,
  type RefundedBody,
  readPayment,
  readRefunds,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe, sql } = till;

interface Totals {
  readonly refunds: { readonly count: number; readonly amount: number };
}

/** Of 10,000 authorised, captures so much, or cancels. */
async function authorise(captured: number): Promise<PaymentBody> {
  await till.control('clock', { advanceSeconds: 60 });
  const payment = await createPayment(till, { amount: 10_000, captureMethod: 'manual' });
  await confirmPayment(till, payment);
  await till.settle();
  const path = `/payments/${payment.id}`;
  await till.post(
    captured === 0 ? `${path}/cancel` : `${path}/capture`,
    captured === 0 ? {} : { amount: captured },
  );
  await till.settle();
  return payment;
}

const kindsOf = (refunds: readonly RefundBody[]) => refunds.map(({ kind, amount }) => [kind, amount]);

async function list(query = ''): Promise<PageBody<RefundBody>> {
  return readJson(await call('GET', `/refunds${query}`), 200);
}

describe('what was authorised and not captured', () => {
  let [canceled, captured, refunded]: readonly PaymentBody[] = [];
  before(async () => {
    canceled = await authorise(0);
    captured = await authorise(4_000);
    // What is refunded is as much as was released.
    refunded = await authorise(5_000);
    await till.control('clock', { advanceSeconds: 60 });
    await stripe.refunds.create({ payment_intent: refunded.processorPaymentIntentId });
    await till.settle();
  });

  test('is a release in the list of its payment, whose refunded amount leaves it out', async () => {
    assert(canceled !== undefined && captured !== undefined && refunded !== undefined);
    assert.deepEqual(kindsOf(await readRefunds(till, canceled)), [['release', 10_000]]);
    assert.deepEqual(kindsOf(await readRefunds(till, captured)), [['release', 6_000]]);
    assert.deepEqual(kindsOf(await readRefunds(till, refunded)), [
      ['refund', 5_000],
      ['release', 5_000],
    ]);
    for (const [kind, kinds] of [
      ['refund', ['refund']],
      ['release', ['release']],
      ['all', ['refund', 'release']],
    ] as const) {
      const response = await call('GET', `/payments/${refunded.id}/refunds?kind=${kind}`);
      const { data, total } = await readJson<PageBody<RefundBody>>(response, 200);
      assert.deepEqual([data.map((one) => one.kind), total], [kinds, kinds.length]);
    }
    const payments = await Promise.all([canceled, captured, refunded].map((one) => readPayment(till, one)));
    assert.deepEqual(
      payments.map(({ status, amountRefunded }) => [status, amountRefunded]),
      [
        ['canceled', 0],
        ['succeeded', 0],
        ['refunded', 5_000],
      ],
    );
  });

  test('has no events, and is in no number of the overview', async () => {
    const events = (await readEvents(sql)).filter(({ objectType }) => objectType === 'refund');
    assert.deepEqual(
      events.map(({ type, data }) => [type, data['kind'], data['amount']]),
      [['refund.created', 'refund', 5_000]],
    );
    const { currencies } = await till.get<{ currencies: readonly { totals: Totals }[] }>('/overview');
    assert.deepEqual(
      currencies.map(({ totals }) => totals.refunds),
      [{ count: 1, amount: 5_000 }],
    );
    await assertOverviewExact(till, sql);
    // Counts all rows, instead of the events.
    await sql('delete from till.overview_cells');
    await sql('update till.overview_progress set position = null');
    await till.services.overviewFollower.run();
    await assertOverviewExact(till, sql);
    await assertEventsComplete(till, sql);
  });

  test('is in the list of all refunds only with `kind`, whatever the other filters are', async () => {
    for (const query of [
      '',
      '?kind=refund',
      '?status=succeeded',
      '?currency=eur',
      '?kind=refund&currency=eur',
    ]) {
      const page = await list(query);
      assert.deepEqual([page.total, kindsOf(page.data)], [1, [['refund', 5_000]]], query);
    }
    const released = [
      ['release', 5_000],
      ['release', 6_000],
      ['release', 10_000],
    ];
    for (const query of ['', '&status=succeeded', '&currency=eur', '&status=succeeded&currency=eur']) {
      const page = await list(`?kind=release${query}`);
      assert.deepEqual([page.total, kindsOf(page.data)], [3, released], query);
      const all = await list(`?kind=all${query}`);
      assert.deepEqual([all.total, kindsOf(all.data)], [4, [['refund', 5_000], ...released]], query);
    }
    assert.equal((await list('?kind=release&status=failed')).total, 0);
  });

  test('has the order, the cursors and the files of any other list', async () => {
    const walked: RefundBody[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: PageBody<RefundBody> = await list(`?kind=all&limit=1${cursor && `&cursor=${cursor}`}`);
      walked.push(...page.data);
      cursor = page.nextCursor;
    }
    assert.deepEqual(walked, (await list('?kind=all')).data);
    assert.deepEqual((await list('?kind=all&sort=createdAt')).data, walked.toReversed());
    assert.deepEqual((await list('?kind=all&limit=3&page=2')).data, walked.slice(3));
    const { nextCursor } = await list('?kind=all&limit=1');
    for (const other of ['', 'kind=release&'])
      await readProblem(await call('GET', `/refunds?${other}cursor=${nextCursor}`), 400, 'invalid_request');
    const file = async (path: string) => {
      const response = await call('GET', path, undefined, { accept: 'text/csv' });
      return (await response.text()).trim().split('\r\n');
    };
    const [header, ...rows] = await file('/refunds?kind=all');
    assert.equal(rows.length, 4);
    assert.match(header ?? '', /,reason,kind,/);
    assert.equal((await file('/refunds')).length, 2);
    assert.equal((await file(`/payments/${captured?.id}/refunds`)).length, 2);
  });

  test('is found by its id', async () => {
    const [release] = (await list('?kind=release')).data;
    const { data } = await till.get<{ data: readonly { objectId: string; paymentId: string }[] }>(
      `/search?q=${release?.processorRefundId}`,
    );
    assert.deepEqual(
      data.map(({ objectId, paymentId }) => [objectId, paymentId]),
      [[release?.id, release?.paymentId]],
    );
  });

  test('stays a release when an operator refreshes it and its events come again', async () => {
    const shown = (await list('?kind=all')).data;
    const events = await Array.fromAsync(stripe.events.list({ limit: 100 }));
    for (const event of events) if (/refund/.test(event.type)) await till.take(JSON.stringify(event));
    await till.services.resync.all();
    await till.settle();
    assert.deepEqual((await list('?kind=all')).data, shown);
  });
});

test('a refund that Till requests is a refund, even of as much as was released', async () => {
  const payment = await authorise(5_000);
  const { refund } = await till.post<RefundedBody>(`/payments/${payment.id}/refund`);
  await till.settle();
  const refunds = await readRefunds(till, payment);
  assert.deepEqual([refund.kind, refunds.length], ['refund', 2]);
  for (const { id, kind } of refunds) assert.equal(kind, id === refund.id ? 'refund' : 'release');
});

test('a refund of a payment that was captured at once is a refund', async () => {
  const payment = await createPaidPayment(till, { amount: 300 });
  await stripe.refunds.create({ payment_intent: payment.processorPaymentIntentId });
  await till.settle();
  assert.deepEqual(kindsOf(await readRefunds(till, payment)), [['refund', 300]]);
});

test('an import tells releases from refunds', async (t) => {
  const other = await startTill({ in: 'process', for: t });
  const customer = await makePayer(other.stripe, { email: 'ada@example.com' });
  for (const captured of [0, 4_000, 5_000]) {
    const { id } = await other.stripe.paymentIntents.create({
      ...{ customer, amount: 10_000, currency: 'eur', capture_method: 'manual', confirm: true },
      ...{ payment_method: 'pm_card_visa', return_url: 'https://shop.example.com' },
    });
    if (captured === 0) await other.stripe.paymentIntents.cancel(id);
    else await other.stripe.paymentIntents.capture(id, { amount_to_capture: captured });
    if (captured > 0)
      await other.stripe.refunds.create({ payment_intent: id, amount: captured === 5_000 ? 5_000 : 1_000 });
  }
  await runImport(other);
  const rows = await other.sql<{ row: string }>(
    `select concat_ws(' ', amount_received, amount_refunded, string_agg(kind || ' ' || refunds.amount, ' ' order by kind))
       as row
     from till.payments join till.refunds on payment_id = payments.id
     group by payments.id, amount_received order by amount_received`,
  );
  assert.deepEqual(
    rows.map(({ row }) => row),
    ['0 0 release 10000', '4000 1000 refund 1000 release 6000', '5000 5000 refund 5000 release 5000'],
  );
  assert.equal((await other.get<PageBody<RefundBody>>('/refunds')).total, 2);
});

test('lost rows get their kinds again', async () => {
  const shown = (await list('?kind=all')).data;
  await sql('delete from till.refunds');
  await till.services.resync.all();
  const times = ({ updatedAt: _, ...refund }: RefundBody) => refund;
  const recovered = (await list('?kind=all')).data;
  assert.deepEqual(recovered.map(times), shown.map(times));
});
