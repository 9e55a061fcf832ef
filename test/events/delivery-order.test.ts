import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createRandom } from '#runtime/seed/random.ts';
import { deliveryCalls } from '../support/deliveries.ts';
import { effort } from '../support/effort.ts';
import { startEventSink } from '../support/event-sink.ts';
import { seedOf } from '../support/seeds.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';

const eventsCount = effort({ short: 200, long: 10_000 });
const objectsCount = 25;
const eventsPerTransaction = 20;
/** Longer than an attempt holds the position back. */
const slowMs = 1_100;

test(`an object's event is never sent before those before it were accepted, among ${eventsCount} events with failures, resends, slow responses and lost database connections`, async (t) => {
  const seed = seedOf('MODEL');
  t.diagnostic(`MODEL_SEED=${seed}`);
  const random = createRandom(seed);
  const till = await startTill({
    in: 'process',
    for: t,
    delivers: true,
    events: { allowPrivate: true },
    mustNotLogErrors: true,
  });
  const { append, retryNow } = deliveryCalls(till);
  const accepted = new Map<string, string[]>();
  let acceptedCount = 0;
  const early: string[] = [];
  const resent = new Set<string>();
  /** All that was accepted, repetitions included. */
  const repeated: string[] = [];
  const nextOf = (objectId: string) => expectedOf.get(objectId)?.[accepted.get(objectId)?.length ?? 0];
  const sink = await startEventSink(t, async (response, { body: { id, objectId } }) => {
    // What was accepted before is a repetition, which only a crash, a replay or a resend may cause.
    if (id !== nextOf(objectId) && !resent.has(id)) early.push(id);
    const chance = random();
    if (chance < 0.01) await setTimeout(slowMs);
    if (chance > 0.85) return void response.writeHead(500).end();
    repeated.push(id);
    // After a slow response, because a resend may have been accepted meanwhile.
    if (id === nextOf(objectId)) {
      accepted.set(objectId, [...(accepted.get(objectId) ?? []), id]);
      acceptedCount += 1;
    }
    response.writeHead(204).end();
  });
  const expectedOf = new Map<string, string[]>();
  const endpoint = await till.post<{ id: string }>('/event-endpoints', { url: sink.url });
  await till.call('PATCH', `/event-endpoints/${endpoint.id}`, { enabled: false });
  const objects = Array.from({ length: objectsCount }, () => randomUUID());
  for (let count = 0; count < eventsCount; count += eventsPerTransaction) {
    const chosen = Array.from(
      { length: eventsPerTransaction },
      () => objects[Math.floor(random() * objectsCount)] ?? '',
    );
    const ids = await append(...chosen.map((objectId) => ({ objectId })));
    for (const [index, objectId] of chosen.entries())
      expectedOf.set(objectId, [...(expectedOf.get(objectId) ?? []), ids[index] ?? '']);
  }
  // Only now, because the ids must be known when the events arrive.
  await till.call('PATCH', `/event-endpoints/${endpoint.id}`, { enabled: true });
  const outages = [0.3, 0.6];
  const all = [...expectedOf.values()].flat();
  while (acceptedCount < eventsCount) {
    if (acceptedCount > eventsCount * (outages[0] ?? 1)) {
      outages.shift();
      // What was sent meanwhile is recorded once the database is back, so nothing is sent twice.
      await till.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'till' and datname = current_database()`,
      );
    }
    // In any state: delivered, in flight, waiting, behind another one, or not read yet.
    const chosen = all[Math.floor(random() * all.length)] ?? '';
    resent.add(chosen);
    // Its connection may be one of those that are lost.
    await (await till.call('POST', `/events/${chosen}/resend`)).body?.cancel();
    const before = sink.received.length;
    // Again and again: an attempt that fails just now waits for seconds once it is recorded. A slow response may accept
    // the last event, and then nothing more arrives.
    await until(async () => {
      await retryNow();
      return sink.received.length > before || acceptedCount === eventsCount;
    });
  }
  assert.deepEqual(early, []);
  assert.deepEqual(accepted, expectedOf);
  const isEmpty = async () => {
    await retryNow();
    return (
      (await till.sql('select from till.event_resends union all select from till.event_retries')).length === 0
    );
  };
  await until(isEmpty);
  // Now that all are delivered, each resend is one more delivery, in any order.
  const before = repeated.length;
  const again = Array.from({ length: 20 }, (_, index) => all[index * 7] ?? '');
  await Promise.all(again.map((id) => till.post(`/events/${id}/resend`)));
  await until(isEmpty);
  assert.deepEqual(new Set(repeated.slice(before)), new Set(again));
  assert.equal(repeated.length, before + again.length);
});
