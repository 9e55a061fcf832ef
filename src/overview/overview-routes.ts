import type { FastifyInstance } from 'fastify';
import { answer, problems } from '../http/docs/api-schema.ts';
import { typed } from '../http/typed-app.ts';
import type { Clock } from '../platform/clock.ts';
import { rangeOf } from './overview-range.ts';
import { type OverviewAnswer, OverviewQuery, OverviewSchema, overviewExample } from './overview-schema.ts';
import type { Overview, OverviewService } from './overview-service.ts';

export function registerOverviewRoutes(
  fastify: FastifyInstance,
  { overview, clock }: { readonly overview: OverviewService; readonly clock: Clock },
): void {
  typed(fastify).get(
    '/api/v1/overview',
    {
      config: { scope: 'read' },
      schema: {
        tags: ['overview'],
        operationId: 'getOverview',
        summary: 'Get the numbers of a range of days',
        description:
          'Payments and refunds count on the UTC day on which they were created, as they are now, so the numbers of ' +
          'past days can still change. Each number says which list shows its rows. Of a list, `createdAfter` is the ' +
          'beginning of the first day, and `createdBefore` that of the day after the last.',
        querystring: OverviewQuery,
        response: { 200: answer('The numbers.', OverviewSchema, overviewExample), ...problems() },
      },
    },
    async (request) => {
      const { currency, ...days } = request.query;
      const range = rangeOf(days, clock.now().getTime());
      return toAnswer(await overview.read(range, currency));
    },
  );
}

function toAnswer({ asOf, currencies, ...overview }: Overview): OverviewAnswer {
  return {
    ...overview,
    asOf: asOf.toISOString(),
    currencies: currencies.map(({ days, ...numbers }) => ({ ...numbers, days: [...days] })),
  };
}
