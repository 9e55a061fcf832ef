import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { createRandom } from '#runtime/seed/random.ts';
import { startBackend } from '../support/backend.ts';
import { effort } from '../support/effort.ts';
import { startEventSink } from '../support/event-sink.ts';
import { seedOf } from '../support/seeds.ts';
import { appendForIds } from '../support/stored-events.ts';
import { startTill } from '../support/till.ts';

const kills = effort({ short: 1, long: 20 });
const eventsPerLife = effort({ short: 60, long: 150 });
const objectsCount = 20;
const environment = { EVENT_ENDPOINTS_ALLOW_PRIVATE: 'true' };

test(`through ${kills} kills in the middle of deliveries every event arrives, each object's in order, and every resend`, async (t) => {
  const seed = seedOf('FAULT');
  t.diagnostic(`FAULT_SEED=${seed}`);
  const random = createRandom(seed);
  const backend = await startBackend(t);
  // Some attempts fail, so that some objects wait when the process dies.
  const sink = await startEventSink(
    t,
    (response) => void response.writeHead(random() < 0.02 ? 500 : 204).end(),
  );
  const objects = Array.from({ length: objectsCount }, () => crypto.randomUUID());
  const ids: string[] = [];
  /** The number of events that had arrived when an event was resent. */
  const resent = new Map<string, number>();
  const append = async () => {
    const events = Array.from({ length: eventsPerLife }, (_, index) => ({
      objectId: objects[index % objectsCount] ?? '',
    }));
    ids.push(...(await appendForIds(backend.sql, events)));
  };
  for (let life = 0; life <= kills; life += 1) {
    // Otherwise, ever more objects would wait for the retries of earlier lives, up to half an hour.
    await endWaits();
    const till = await startTill({ in: 'child', on: backend, environment });
    if (life === 0) await till.post('/event-endpoints', { url: sink.url });
    const before = sink.received.length;
    await append();
    if (life === kills) break;
    await sink.arrived(before + Math.floor(eventsPerLife / 2));
    // They are acknowledged, and the process dies at once: before, during or after their attempts.
    const again = ids.slice(0, 5);
    for (const id of again) resent.set(id, sink.received.length);
    await Promise.all(again.map((id) => till.post(`/events/${id}/resend`)));
    const died = once(till.child, 'exit');
    till.child.kill('SIGKILL');
    await died;
  }
  await allArrived();
  for (const objectId of objects) {
    const order = new Set(
      sink.received.filter(({ body }) => body.objectId === objectId).map(({ body }) => body.id),
    );
    assert.deepEqual(
      [...order],
      ids.filter((id) => order.has(id)),
    );
  }

  async function allArrived(): Promise<void> {
    const arrived = (from = 0) => new Set(sink.received.slice(from).map(({ body }) => body.id));
    const isMissing = () => {
      const everything = arrived();
      return (
        ids.some((id) => !everything.has(id)) || [...resent].some(([id, from]) => !arrived(from).has(id))
      );
    };
    while (isMissing()) {
      const before = sink.received.length;
      await endWaits();
      await sink.arrived(before + 1);
    }
  }

  /** What has failed once does not have to wait here. */
  async function endWaits(): Promise<void> {
    // In one transaction, and the endpoint first, as Till locks them.
    await backend.sql(
      `update till.event_endpoints set updated_at = now(); update till.event_retries set next_attempt_at = now();
       update till.event_resends set next_attempt_at = now()`,
    );
  }
});
