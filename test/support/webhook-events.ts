import { createHmac, randomUUID } from 'node:crypto';
import { eventFixture } from '../fixtures/event-fixture.ts';
import { webhookSecrets } from './backend.ts';

/** The signature header for a body. */
export function signWebhook(
  body: string | Buffer,
  secret: string = webhookSecrets[0],
  atSeconds = Math.floor(Date.now() / 1_000),
): string {
  const signature = createHmac('sha256', secret).update(`${atSeconds}.`).update(body).digest('hex');
  return `t=${atSeconds},v1=${signature}`;
}

/** A fixture as a new event: with a new id, created now, and with changed fields of its object and of itself. */
export function eventOf(name: string, object: object = {}, event: object = {}): string {
  const fixture = JSON.parse(eventFixture(name));
  return JSON.stringify({
    ...fixture,
    id: `evt_${randomUUID().replaceAll('-', '')}`,
    created: Math.floor(Date.now() / 1_000),
    ...event,
    data: { object: { ...fixture.data.object, ...object } },
  });
}

export function idOf(event: string): string {
  return JSON.parse(event).id;
}
