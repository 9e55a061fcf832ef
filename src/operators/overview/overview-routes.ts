import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { idTime } from '#core/platform/id.ts';
import { Type } from '#core/platform/schemas.ts';
import type { CustomerService } from '#features/customers/customer-service.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import {
  CursorQuery,
  currencyParameter,
  dateTime,
  Id,
  Include,
  IncludedCustomer,
  NextCursor,
  nullable,
  response,
} from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { withCustomers } from '#http/read-routes.ts';
import { type CurrentSubscriber, type MoveName, moveNames, type StoredMove } from './move.ts';
import { OverviewQuery, OverviewSchema, overviewExample } from './overview-schema.ts';
import type { OverviewService } from './overview-service.ts';

const currency = { ...currencyParameter('The currency, in upper or lower case.'), examples: ['eur'] };

const MoveSchema = component('OverviewMove', {
  id: Id,
  createdAt: dateTime('When Till learned of the change.'),
  date: Type.String({ format: 'date', description: 'The day on which it counts.' }),
  move: Type.Enum([...moveNames]),
  amount: nullable(
    Type.Integer({
      description:
        'By how much monthly recurring revenue moved, in the smallest unit of the currency. Null for trials and renewals.',
    }),
  ),
  currency: Type.String(),
  customerId: Id,
  subscriptionId: Type.String({ format: 'uuid', description: 'The subscription that changed.' }),
  customer: IncludedCustomer,
});
const MoveList = component('OverviewMoveList', { data: Type.Array(MoveSchema), nextCursor: NextCursor });

const MoveQuery = Type.Object(
  {
    move: Type.Enum([...moveNames], {
      description:
        'Which changes: those of `mrr` by their names there, and those of `trials` and `recovery` as `trial_…` and ' +
        '`renewal_…`.',
      examples: ['new'],
    }),
    currency,
    ...{ from: OverviewQuery.properties.from, to: OverviewQuery.properties.to, include: Include },
    ...CursorQuery.properties,
  },
  { additionalProperties: false },
);

const SubscriberSchema = component('OverviewSubscriber', {
  customerId: Id,
  monthlyAmount: Type.Integer({ description: 'In the smallest unit of the currency.' }),
  currency: Type.String(),
  customer: IncludedCustomer,
});
const SubscriberList = component('OverviewSubscriberList', {
  data: Type.Array(SubscriberSchema),
  nextCursor: NextCursor,
});
const SubscriberQuery = Type.Object(
  { currency, include: Include, ...CursorQuery.properties },
  { additionalProperties: false },
);

const customerId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
const moveExample: Static<typeof MoveSchema> = {
  id: '0199c1f4-7b8c-7d9e-8f0a-1b2c3d4e5f60',
  createdAt: '2026-11-15T09:30:00.000Z',
  date: '2026-11-15',
  move: 'new',
  amount: 4_900,
  currency: 'eur',
  customerId,
  subscriptionId: '0199c1f2-3c4d-7a5b-8e6f-1a2b3c4d5e6f',
};

/** The numbers of the overview, and the lists of their rows that no list of objects contains. */
export function registerOverviewRoutes(
  app: FastifyInstance,
  overview: OverviewService,
  customers: CustomerService,
): void {
  const routes = new ApiRoutes(app, 'overview');
  routes.add('GET /api/v1/overview', {
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
    run: ({ query }) => overview.read(query),
  });
  registerMoves(routes, overview, customers);
}

function registerMoves(routes: ApiRoutes, overview: OverviewService, customers: CustomerService): void {
  const find = (ids: readonly string[]) => customers.summaries(ids);
  routes.add('GET /api/v1/overview/moves', {
    scope: 'read',
    operationId: 'listOverviewMoves',
    summary: 'List the changes that a number of the overview adds up, newest first',
    description:
      'The amounts of all pages add up to that part of `mrr`, and their number is that of `subscribers`, `trials` or ' +
      '`recovery`, if `from` is not before `movesSince` of the overview.',
    query: MoveQuery,
    response: {
      200: response('One page of changes.', MoveList, { data: [moveExample], nextCursor: null }),
    },
    run: async ({ query: { include, ...query } }) => {
      const { data, nextCursor } = await overview.listMoves(query);
      const show = (row: StoredMove) => moveView(row, query);
      if (include === undefined) return { data: data.map(show), nextCursor };
      const included = { customerIdOf: (row: StoredMove) => row.customerId, find };
      return { data: await withCustomers(data, included, show), nextCursor };
    },
  });
  routes.add('GET /api/v1/overview/subscribers', {
    scope: 'read',
    operationId: 'listOverviewSubscribers',
    summary: 'List the customers who pay for subscriptions now, newest first',
    description:
      'Their number is `end` of `subscribers`, and the sum of their amounts `end` of `mrr`, for a range that ends today.',
    query: SubscriberQuery,
    response: {
      200: response('One page of subscribers.', SubscriberList, {
        data: [{ customerId, monthlyAmount: 4_900, currency: 'eur' }],
        nextCursor: null,
      }),
    },
    run: async ({ query: { include, currency: wanted, ...page } }) => {
      const { data, nextCursor } = await overview.listSubscribers(wanted, page);
      const show = ({ id, monthlyAmount }: CurrentSubscriber) => ({
        ...{ customerId: id, monthlyAmount, currency: wanted },
      });
      if (include === undefined) return { data: data.map(show), nextCursor };
      const included = { customerIdOf: ({ id }: CurrentSubscriber) => id, find };
      return { data: await withCustomers(data, included, show), nextCursor };
    },
  });
}

function moveView(
  { id, day, customerId: owner, subscriptionId, amount }: StoredMove,
  { move, currency: of }: { readonly move: MoveName; readonly currency: string },
): Static<typeof MoveSchema> {
  return {
    ...{ id, createdAt: idTime(id).toISOString(), date: day, move, currency: of },
    amount: /^(?:trial|renewal)_/.test(move) ? null : amount,
    ...{ customerId: owner, subscriptionId },
  };
}
