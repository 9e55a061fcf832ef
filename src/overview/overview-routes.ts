import type { FastifyInstance } from 'fastify';
import { ApiRoutes } from '../http/api-routes.ts';
import { response } from '../http/docs/api-schema.ts';
import type { Growth } from './overview-growth.ts';
import { OverviewQuery, type OverviewResponse, OverviewSchema, overviewExample } from './overview-schema.ts';
import type { Overview, OverviewService } from './overview-service.ts';

export function registerOverviewRoutes(app: FastifyInstance, overview: OverviewService): void {
  new ApiRoutes(app, 'overview').add('GET /api/v1/overview', {
    scope: 'read',
    operationId: 'getOverview',
    mayReadReplica: true,
    summary: 'Get the numbers of a range of days',
    description:
      'Payments and refunds count on the day on which they were created, as they are now, so the numbers of ' +
      'past days can still change. Changes of subscriptions count on the day on which Till learned of them. Days ' +
      'are those of the setting `OVERVIEW_TIME_ZONE`. The description of each number names the list of its rows. In a ' +
      'list, set `createdAfter` to `startsAt`, and `createdBefore` to `endsAt`.',
    query: OverviewQuery,
    response: { 200: response('The numbers.', OverviewSchema, overviewExample) },
    run: async ({ query }) => toResponse(await overview.read(query)),
  });
}

function toResponse({ asOf, startsAt, endsAt, currencies, ...overview }: Overview): OverviewResponse {
  return {
    ...overview,
    startsAt: startsAt.toISOString(),
    endsAt: endsAt.toISOString(),
    asOf: asOf.toISOString(),
    currencies: currencies.map(({ days, previous, ...numbers }) => ({
      ...withSeries(numbers),
      previous: previous && withSeries(previous),
      days: [...days],
    })),
  };
}

/** The schema of a response has arrays that can be changed. */
function withSeries<Numbers extends Pick<Growth, 'mrr'>>(numbers: Numbers) {
  const { mrr } = numbers;
  return { ...numbers, mrr: mrr && { ...mrr, series: [...mrr.series] } };
}
