/** Objects that are older than events are, and events that are older than they are kept. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertEventsComplete, readEvents } from '../support/checks/outbox.ts';
import { confirmPayment, createPayment, createPlan, createSubscription } from '../support/objects.ts';
import { startTill } from '../support/till.ts';

test('objects of an older release are recorded in the background, and a change without an event gets one', async (t) => {
  const till = await startTill({ in: 'process', for: t, mustNotLogErrors: true });
  const { sql, services } = till;
  const [early, plan] = [await createPayment(till), await createPlan(till)];
  await createSubscription(till, { planId: plan.id });
  await createSubscription(till, { planId: plan.id, trialPeriodDays: 7 });
  await till.settle();
  // As after an upgrade: the rows are there, and nothing is recorded.
  await sql('delete from till.events');
  await sql('delete from till.event_objects');
  await sql('update till.overview_progress set position = null');
  await services.overviewFollower.run();
  // One changes before it is remembered, so its row says what it was.
  await confirmPayment(till, early);
  await till.settle();
  const [first, ...others] = await readEvents(sql, early.id);
  assert.notEqual(first?.type, 'payment.created');
  assert.equal({ ...early, ...first?.previous }.status, early.status);
  const countBefore = (await readEvents(sql)).length;
  await services.eventUpkeep.recordOlder();
  assert.equal((await readEvents(sql)).length, countBefore, 'nothing has changed, so there is no event');
  assert.deepEqual(await sql('select * from till.event_baselines'), []);
  const older = new Set(
    (await sql<{ id: string }>('select object_id as id from till.event_objects')).map(({ id }) => id),
  );
  await till.call('PATCH', `/plans/${plan.id}`, { name: 'Other' });
  const [renamed] = await readEvents(sql, plan.id);
  assert.deepEqual(renamed?.previous, { name: plan.name, updatedAt: plan.updatedAt });
  assert.ok(others.every(({ type }) => type !== 'payment.created'));
  await assertEventsComplete(till, sql, { isOlder: (id) => older.has(id) });
  // A process of an older release changes a row during the upgrade. The next look at it writes the event.
  await sql(`update till.plans set name = 'By an older release' where id = $1`, [plan.id]);
  await sql(`insert into till.event_baselines (object_type) values ('plan')`);
  await services.eventUpkeep.recordOlder();
  const last = (await readEvents(sql, plan.id)).at(-1);
  assert.deepEqual([last?.previous, last?.cause.kind], [{ name: 'Other' }, 'sweeper']);
  await assertEventsComplete(till, sql, { isOlder: (id) => older.has(id) });
});

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
  await sql(`select till.make_event_weeks(${old}, ${old})`);
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
