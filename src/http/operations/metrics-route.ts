import type { FastifyInstance } from 'fastify';
import { withDeadline } from '#core/platform/deadline.ts';
import type { Metrics } from '#core/platform/metrics.ts';
import { Type } from '#core/platform/schemas.ts';
import { shareConcurrent } from '#core/platform/share-concurrent.ts';
import { operatorRoute } from './operator-route.ts';

export interface MetricsParts {
  readonly metrics: Metrics;
  /** Updates gauges; if it fails or takes too long, the scrape shows the last values. */
  readonly beforeScrape: () => Promise<void>;
  /** Reads the metrics, if they include those of other processes. */
  readonly readMetrics?: () => Promise<string>;
}

/** A scraper waits ten seconds. While the database is down it must still get the other metrics. */
const beforeScrapeTimeoutMs = 1_000;

export function registerMetrics(
  app: FastifyInstance,
  { metrics, beforeScrape, readMetrics = () => metrics.registry.metrics() }: MetricsParts,
): void {
  const scrape = shareConcurrent(async () => {
    await withDeadline(beforeScrape(), beforeScrapeTimeoutMs, 'counting').catch(() => {});
    return Buffer.from(await readMetrics());
  });
  app.get(
    '/metrics',
    operatorRoute({
      operationId: 'getMetrics',
      summary: 'Get metrics in the Prometheus text format',
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
    }),
    async (_request, reply) => {
      const text = await scrape();
      await app.largeResponses.wait(reply);
      return reply.type(metrics.registry.contentType).send(text);
    },
  );
}
