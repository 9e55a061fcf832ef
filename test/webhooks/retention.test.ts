import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';

const daySeconds = 86_400;
const weekSeconds = 7 * daySeconds;
const nowSeconds = () => Math.floor(Date.now() / 1_000);

/** The Monday, 00:00 UTC, of the week that a time lies in, and the name of its partition. */
function weekOf(seconds: number): { readonly start: number; readonly name: string } {
  const days = Math.floor(seconds / daySeconds);
  // The first day of all was a Thursday.
  const start = (days - ((days + 3) % 7)) * daySeconds;
  const date = new Date(start * 1_000).toISOString().slice(0, 10).replaceAll('-', '');
  return { start, name: `webhook_events_${date}` };
}

async function weeks(till: TillInProcess): Promise<readonly string[]> {
  const rows = await till.sql<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits
     where inhparent = 'till.webhook_events'::regclass order by name`,
  );
  return rows.map(({ name }) => name.replace('till.', '')).filter((name) => name !== 'webhook_events_other');
}

async function partitionOf(till: TillInProcess, event: string): Promise<string | undefined> {
  const [row] = await till.sql<{ name: string }>(
    'select tableoid::regclass::text as name from till.webhook_events where id = $1',
    [idOf(event)],
  );
  return row?.name.replace('till.', '');
}

/** A week that was created when it was new, and is old now. */
async function makeOldWeek(till: TillInProcess, created: number): Promise<string> {
  await till.sql(`select till.make_weeks('webhook_events', to_timestamp($1), to_timestamp($1))`, [created]);
  return weekOf(created).name;
}

describe('the weeks of the inbox', () => {
  test('exist from five weeks back to four weeks ahead, and a missing one is created again', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const expected = Array.from(
      { length: 10 },
      (_, index) => weekOf(nowSeconds() + (index - 5) * weekSeconds).name,
    );
    for (const name of expected.slice(-2)) await till.sql(`drop table till.${name}`);
    await till.services.retention.run();
    assert.deepEqual(await weeks(till), expected);
    await till.services.retention.run();
    assert.deepEqual(await weeks(till), expected);
  });

  test('take the events of their own time, whatever the time zone of the session', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    for (const created of [weekOf(nowSeconds()).start, weekOf(nowSeconds()).start - 1]) {
      const event = eventOf('balance.available', {}, { created });
      await till.take(event);
      assert.equal(await partitionOf(till, event), weekOf(created).name);
    }
  });

  test('are dropped whole once they are over for longer than is kept, save what failed or still waits', async (t) => {
    const till = await startTill({ in: 'process', for: t, retentionDays: 35 });
    const old = nowSeconds() - 50 * daySeconds;
    const week = await makeOldWeek(till, old);
    const events = {
      processed: eventOf('invoice.paid.newer', {}, { created: old }),
      ignored: eventOf('balance.available', {}, { created: old }),
      failed: eventOf('invoice.paid.newer', { status: 'lost' }, { created: old }),
      pending: eventOf('invoice.paid.newer', { id: 'in_late' }, { created: old }),
    };
    await till.take(events.processed, events.ignored, events.failed);
    await till.send(events.pending);
    for (const event of Object.values(events)) assert.equal(await partitionOf(till, event), week);
    const before = await weeks(till);

    await till.services.retention.run();
    assert.deepEqual(
      await weeks(till),
      before.filter((name) => name !== week),
    );
    assert.deepEqual(await till.sql(`select to_regclass('till.${week}') as there`), [{ there: null }]);
    assert.equal(await partitionOf(till, events.processed), undefined);
    assert.equal(await partitionOf(till, events.ignored), undefined);
    assert.equal(await partitionOf(till, events.failed), 'webhook_events_other');
    assert.equal(await partitionOf(till, events.pending), 'webhook_events_other');
    assert.ok(
      till.lines.some(
        ({ msg, week: dropped }) => msg === 'week of webhook events dropped' && dropped === week,
      ),
    );

    // In their new place they are still recognised, processed and shown.
    assert.deepEqual(await (await till.send(events.failed)).json(), { received: true, duplicate: true });
    await till.drain();
    const { state } = await till.get<{ state: string }>(`/webhook-events/${idOf(events.pending)}`);
    assert.equal(state, 'processed');
    await till.services.retention.run();
    assert.equal(
      await partitionOf(till, events.pending),
      undefined,
      'once it is processed its time is over too',
    );
    assert.equal(await partitionOf(till, events.failed), 'webhook_events_other');
  });

  test('are kept while any of their events is younger than is kept', async (t) => {
    const till = await startTill({ in: 'process', for: t, retentionDays: 35 });
    // The last second of the week that ended last, as seen from the day before which everything goes.
    const edge = weekOf(nowSeconds() - 35 * daySeconds).start;
    const kept = await makeOldWeek(till, edge);
    const young = eventOf('balance.available', {}, { created: edge + weekSeconds - 1 });
    await till.take(young);
    await till.services.retention.run();
    assert.equal(await partitionOf(till, young), kept);
  });
});

describe('events of other times', () => {
  test('go to the default partition, where repeats are recognised too', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    for (const created of [0, nowSeconds() - 300 * daySeconds, nowSeconds() + 300 * daySeconds]) {
      const event = eventOf('invoice.paid.newer', {}, { created });
      await till.take(event);
      assert.equal(await partitionOf(till, event), 'webhook_events_other');
      assert.deepEqual(await (await till.send(event)).json(), { received: true, duplicate: true });
    }
  });

  test('that lie in the future of a moved clock are applied, and no partition is created for their week', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const soon = nowSeconds() + 2 * weekSeconds;
    const { name } = weekOf(soon);
    await till.sql(`drop table till.${name}`);
    const event = eventOf('invoice.paid.newer', {}, { created: soon });
    await till.take(event);
    assert.equal(await partitionOf(till, event), 'webhook_events_other');
    await till.services.retention.run();
    assert.ok(!(await weeks(till)).includes(name), 'the default partition keeps the week that it has begun');
    const sibling = eventOf('invoice.paid.newer', {}, { created: soon });
    await till.take(sibling);
    assert.equal(await partitionOf(till, sibling), 'webhook_events_other');
    assert.deepEqual(await (await till.send(event)).json(), { received: true, duplicate: true });
  });

  test('are deleted once their time is over, in batches, save what failed or still waits', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    await till.sql(
      `insert into till.webhook_events (id, type, created_at, payload, state, next_try_at, received_at)
       select 'evt_old_' || state || number, 'balance.available', now() - interval '91 days', '{}', state, now(), now()
       from generate_series(1, 1100) number, unnest(array['processed', 'ignored']) state`,
    );
    await till.sql(
      `insert into till.webhook_events (id, type, created_at, payload, state, next_try_at, received_at)
       values ('evt_failed', 'invoice.paid', now() - interval '91 days', '{}', 'failed', now(), now()),
         ('evt_pending', 'invoice.paid', now() - interval '91 days', '{}', 'pending', now(), now()),
         ('evt_young', 'invoice.paid', now() - interval '89 days', '{}', 'processed', now(), now())`,
    );
    await till.services.retention.run();
    const left = await till.sql<{ id: string }>('select id from till.webhook_events order by id');
    assert.deepEqual(
      left.map(({ id }) => id),
      ['evt_failed', 'evt_pending', 'evt_young'],
    );
  });
});

test('two processes that keep the weeks at the same time leave them in order', async (t) => {
  const till = await startTill({ in: 'process', for: t, retentionDays: 35 });
  const week = await makeOldWeek(till, nowSeconds() - 60 * daySeconds);
  const ahead = weekOf(nowSeconds() + 4 * weekSeconds).name;
  await till.sql(`drop table till.${ahead}`);
  // One of them may find the work half done and give up; the hour after, or the other, does it.
  await Promise.allSettled([till.services.retention.run(), till.services.retention.run()]);
  await till.services.retention.run();
  const there = await weeks(till);
  assert.ok(there.includes(ahead) && !there.includes(week));
});
