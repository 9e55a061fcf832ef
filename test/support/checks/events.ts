import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import type { Sql, TestProcessor } from '../backend.ts';
import { listAll } from './mirrors.ts';

/** Between two looks at a queue that empties by itself. */
const lookDelayMs = 50;
/** Two minutes: far longer than any queue here needs. */
const looksMax = 2_400;

/** Waits until every event is delivered, and every delivered event is applied. */
export async function eventsSettled({ control }: Pick<TestProcessor, 'control'>, sql: Sql): Promise<void> {
  for (let looks = 0; ; looks += 1) {
    // Deliveries that Till refused are repeated now, and events that it put off are due now, to save the back-off.
    const delivery = await control('delivery/flush');
    await sql(
      `update till.webhook_events set next_try_at = now() where state = 'pending' and next_try_at > now()`,
    );
    const [row] = await sql<{ pending: number }>(
      `select count(*) as pending from till.webhook_events where state = 'pending'`,
    );
    const { endpoints } = delivery as { readonly endpoints: readonly { readonly waiting: number }[] };
    const left = endpoints.reduce((sum, { waiting }) => sum + waiting, row?.pending ?? 0);
    if (left === 0) return;
    assert.ok(looks < looksMax, `${left} events are still not delivered or not applied`);
    await setTimeout(lookDelayMs);
  }
}

/** Every event of the processor was acknowledged. So each must be stored, and be processed or ignored. */
export async function assertEventsKept({ stripe }: Pick<TestProcessor, 'stripe'>, sql: Sql): Promise<void> {
  const rows = await sql<{ id: string; state: string }>('select id, state from till.webhook_events');
  const states = new Map(rows.map(({ id, state }) => [id, state]));
  const events = await listAll(stripe.events.list({ limit: 100 }));
  const lost = events.filter(({ id }) => !['processed', 'ignored'].includes(states.get(id) ?? 'lost'));
  assert.deepEqual(
    lost.slice(0, 5).map(({ id, type }) => ({ id, type, state: states.get(id) })),
    [],
    `${lost.length} events of ${events.length} were acknowledged, and are lost or not processed`,
  );
}
