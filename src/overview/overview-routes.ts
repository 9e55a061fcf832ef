import type { FastifyInstance } from 'fastify';
import { ApiRoutes } from '../http/api-routes.ts';
import { response } from '../http/docs/api-schema.ts';
import type { Clock } from '../platform/clock.ts';
import { rangeOf } from './overview-range.ts';
import { OverviewQuery, type OverviewResponse, OverviewSchema, overviewExample } from './overview-schema.ts';
import type { Overview, OverviewService } from './overview-service.ts';

export function registerOverviewRoutes(
  app: FastifyInstance,
  { overview, clock }: { readonly overview: OverviewService; readonly clock: Clock },
): void {
  new ApiRoutes(app, 'overview').add('GET /api/v1/overview', {
    scope: 'read',
    operationId: 'getOverview',
    summary: 'Get the numbers of a range of days',
    description:
      'Payments and refunds count on the UTC day on which they were created, as they are now, so the numbers of ' +
      'past days can still change. The description of each number names the list of its rows. In a list, set `createdAfter` to the ' +
      'start of the first day, and `createdBefore` to the start of the day after the last.',
    query: OverviewQuery,
    response: { 200: response('The numbers.', OverviewSchema, overviewExample) },
    run: async ({ query: { currency, ...days } }) => {
      const range = rangeOf(days, clock.now().getTime());
      return toResponse(await overview.read(range, currency));
    },
  });
}

function toResponse({ asOf, currencies, ...overview }: Overview): OverviewResponse {
  return {
    ...overview,
    asOf: asOf.toISOString(),
    currencies: currencies.map(({ days, ...numbers }) => ({ ...numbers, days: [...days] })),
  };
}
