import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import Fastify from 'fastify';
import { createMetrics } from '#core/platform/metrics.ts';
import { EventStreams, streamLimits } from './event-streams.ts';

const hour = 3_600_000;

/** The text of a stream without events, of a caller whose session must be read again for each check. */
async function* readStream(isValid: () => Promise<boolean>): AsyncGenerator<string, void> {
  const feed = {
    async next(_after: object, _selection: object, _limit: number, signal: AbortSignal) {
      if (!signal.aborted) await once(signal, 'abort');
    },
  };
  const app = Fastify();
  const metrics = createMetrics({ eventTypes: [], mirrors: [] });
  const limits = { ...streamLimits, heartbeatMs: 1, keyCheckMs: hour };
  // Only what a stream without events uses of the feed, of its parts and of the service around it.
  const parts = [{ logger: app.log, metrics }, feed, limits] as unknown;
  const streams = new EventStreams(...(parts as ConstructorParameters<typeof EventStreams>));
  app.decorate('openRequests', { leave: () => {} } as unknown as (typeof app)['openRequests']);
  app.decorate('logRequest', () => {});
  app.decorateRequest('caller');
  app.addHook('onRequest', async (request) => {
    Object.assign(request, { caller: { name: 'tests', person: null, isValid } });
  });
  type Place = Parameters<typeof streams.open>;
  app.get('/', (request, reply) => {
    streams.open(request, reply, {} as Place[2], {} as Place[3]);
  });
  try {
    const { body } = await fetch(await app.listen({ host: '127.0.0.1', port: 0 }));
    for await (const chunk of body ?? []) yield Buffer.from(chunk).toString();
  } finally {
    streams.end();
    await app.close();
  }
}

test('a caller whose session must be read again gets its heartbeats', async () => {
  let read = '';
  for await (const text of readStream(async () => true)) {
    read += text;
    if (read.split(': heartbeat').length > 3) break;
  }
  assert.match(read, /^retry: 1000\n\n(: heartbeat\n\n)+$/);
});

test('a caller whose session turns out to have ended gets no heartbeat, and its stream ends', async () => {
  let read = '';
  for await (const text of readStream(async () => false)) read += text;
  assert.equal(read, 'retry: 1000\n\n');
});
