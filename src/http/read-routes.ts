import type { FastifyInstance } from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { Page, PageRequest } from '../mirrors/list-page.ts';
import { CustomerPageQuery, describeAnswer, IdParams, pageOf, problems } from './docs/api-schema.ts';

interface ReadRoutes<Row, Answer> {
  /** The resource in singular and plural, as in the spec: `payment`, `payments`. */
  readonly noun: string;
  readonly plural: string;
  readonly schema: TSchema;
  readonly example: Answer;
  readonly list: (request: PageRequest, customerId: string | undefined) => Promise<Page<Row>>;
  readonly read: (id: string) => Promise<Row>;
  readonly toAnswer: (row: Row) => Answer;
}

/**
 * The two read routes of every resource that belongs to a customer: the list, newest first, and one object by its id.
 */
export function registerReadRoutes<Row, Answer>(app: FastifyInstance, routes: ReadRoutes<Row, Answer>): void {
  const { noun, plural, schema, example, list, read, toAnswer } = routes;
  const tags = [plural];
  const path = `/api/v1/${plural}`;
  const page = { data: [example], total: 1, page: 1, limit: 20 };
  app.get<{ Querystring: Static<typeof CustomerPageQuery> }>(
    path,
    {
      schema: {
        tags,
        summary: `List ${plural}, newest first`,
        querystring: CustomerPageQuery,
        response: { 200: describeAnswer(`One page of ${plural}.`, pageOf(schema), page), ...problems() },
      },
    },
    async (request) => {
      const { data, ...rest } = await list(request.query, request.query.customerId);
      return { ...rest, data: data.map(toAnswer) };
    },
  );
  app.get<{ Params: Static<typeof IdParams> }>(
    `${path}/:id`,
    {
      schema: {
        tags,
        summary: `Get one of the ${plural}`,
        params: IdParams,
        response: { 200: describeAnswer(`The ${noun}.`, schema, example), ...problems('not_found') },
      },
    },
    async (request) => toAnswer(await read(request.params.id)),
  );
}
