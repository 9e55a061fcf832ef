import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Metrics } from '../platform/metrics.ts';

export function registerMetrics(app: FastifyInstance, metrics: Metrics): void {
  app.get(
    '/metrics',
    {
      schema: {
        tags: ['operations'],
        summary: 'Counters and histograms in the Prometheus text format',
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
      const text = await metrics.registry.metrics();
      return reply.type(metrics.registry.contentType).send(text);
    },
  );
}
