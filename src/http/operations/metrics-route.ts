import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { withDeadline } from '../../platform/deadline.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { shareConcurrent } from '../../platform/share-concurrent.ts';

/** A scraper waits ten seconds; with the database down it must still get the other metrics. */
const beforeScrapeTimeoutMs = 1_000;

export function registerMetrics(
  app: FastifyInstance,
  metrics: Metrics,
  beforeScrape: () => Promise<void>,
): void {
  const scrape = shareConcurrent(async () => {
    await withDeadline(beforeScrape(), beforeScrapeTimeoutMs, 'counting').catch(() => {});
    return Buffer.from(await metrics.registry.metrics());
  });
  app.get(
    '/metrics',
    {
      config: { failures: ['malformed_request'] },
      schema: {
        tags: ['operations'],
        operationId: 'getMetrics',
        summary: 'Get metrics in the Prometheus text format',
        security: [],
        response: {
          200: {
            description: 'The current values.',
            content: {
              'text/plain': {
                schema: Type.String(),
                examples: { counter: { value: 'payments_succeeded_total 42\n' } },
              },
            },
          },
        },
      },
    },
    async (_request, reply) => {
      const text = await scrape();
      await app.largeResponses.wait(reply);
      return reply.type(metrics.registry.contentType).send(text);
    },
  );
}
