/** Events that are older than they are kept. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEvents } from '../support/checks/outbox.ts';
import { createPayment } from '../support/objects.ts';
import { startTill } from '../support/till.ts';

test('events are dropped whole weeks at a time once they are older than they are kept, and what they showed is remembered', async (t) => {
  const till = await startTill({
    in: 'process',
    for: t,
    mustNotLogErrors: true,
    events: { retentionDays: 90 },
  });
  const { sql, services } = till;
  const payment = await createPayment(till);
  const old = `now() - interval '120 days'`;
  await sql(`select till.make_weeks('events', ${old}, ${old})`);
  await sql(`update till.events set created_at = ${old} where object_id = $1`, [payment.id]);
  await sql(`insert into till.events_other select position, now() - interval '1000 days', type, object_type, object_id,
    customer_id, data, previous, cause from till.events limit 1`);
  const kept = (await readEvents(sql)).length - 2;
  await services.retention.run();
  assert.equal((await readEvents(sql)).length, kept + 2, 'the overview has not counted them yet');
  await assert.rejects(
    sql(
      `select till.drop_event_week('events_' || to_char(date_trunc('week', (${old}) at time zone 'utc'), 'YYYYMMDD'))`,
    ),
    /has not counted/,
  );
  await till.get('/overview');
  assert.equal(await services.retention.run(), true);
  assert.equal((await readEvents(sql)).length, kept);
  assert.deepEqual(await readEvents(sql, payment.id), []);
  await till.post(`/payments/${payment.id}/cancel`);
  const [canceled] = await readEvents(sql, payment.id);
  assert.deepEqual([canceled?.type, canceled?.previous['status']], ['payment.canceled', payment.status]);
});
