import type { FastifyInstance } from 'fastify';
import type { TProperties, TSchema } from 'typebox';
import { Failure } from '../errors.ts';
import type { ListPage, ListRequest } from '../mirrors/list-page.ts';
import { ApiRoutes } from './api-routes.ts';
import { columnsOf } from './csv/csv.ts';
import { withCsv } from './csv/csv-answer.ts';
import { type CsvPageRequest, wantsCsv } from './csv/csv-exports.ts';
import { describeAnswer, type ListQueryValues, listOf, listQuery } from './docs/api-schema.ts';

interface ListRoute<Row, Answer> {
  /** With an `:id`, the list belongs to that object. */
  readonly path: `/api/v1/${string}`;
  readonly tag: string;
  readonly plural: string;
  readonly operationId: string;
  readonly summary: string;
  readonly schema: TSchema;
  readonly example: Answer;
  /** The schemas of the list's own filters. The store declares each under the same name. */
  readonly filters: TProperties;
  readonly list: (request: ListRequest, id: string) => Promise<ListPage<Row>>;
  readonly toAnswer: (row: Row) => Answer;
}

interface ReadRoutes<Row, Answer>
  extends Pick<ListRoute<Row, Answer>, 'plural' | 'schema' | 'example' | 'filters' | 'list' | 'toAnswer'> {
  /** The resource in singular, as in the spec: `payment`. */
  readonly noun: string;
  readonly read: (id: string) => Promise<Row>;
}

/**
 * The two read routes of every resource that belongs to a customer: the list, newest first, and one object by its id.
 */
export function registerReadRoutes<Row, Answer>(app: FastifyInstance, routes: ReadRoutes<Row, Answer>): void {
  const { noun, plural, schema, example, read, toAnswer } = routes;
  const path = `/api/v1/${plural}` as const;
  registerListRoute(app, {
    ...routes,
    path,
    tag: plural,
    operationId: `list${capitalized(plural)}`,
    summary: `List ${plural}, newest first`,
  });
  new ApiRoutes(app, plural).add(`GET ${path}/:id`, {
    scope: 'read',
    operationId: `get${capitalized(noun)}`,
    summary: `Get one of the ${plural}`,
    response: { 200: describeAnswer(`The ${noun}.`, schema, example) },
    run: async ({ params }) => toAnswer(await read(params.id)),
  });
}

/** A list with cursors and filters, newest first. */
export function registerListRoute<Row, Answer>(app: FastifyInstance, route: ListRoute<Row, Answer>): void {
  const { path, tag, plural, operationId, summary, schema, filters, list, toAnswer } = route;
  const example = {
    data: [route.example],
    total: 1,
    totalCapped: false,
    page: 1,
    limit: 20,
    nextCursor: null,
  };
  const columns = columnsOf(schema);
  const query: TSchema = listQuery(filters);
  const page = describeAnswer(`One page of ${plural}.`, listOf(schema), example);
  new ApiRoutes(app, tag).add(`GET ${path}`, {
    scope: 'read',
    operationId,
    summary,
    query,
    response: { 200: withCsv(page, columns, route.example) },
    run: async (request, reply) => {
      // The types of the path and of the filters are those of each list.
      const { id = '' } = request.params as { readonly id?: string };
      const asked = toListRequest(request.query as ListQueryValues);
      if (wantsCsv(request)) {
        const read = (page: CsvPageRequest) => list({ ...withoutPage(asked), ...page }, id);
        const source = { name: plural, columns, cursor: asked.cursor, read, toAnswer };
        return request.server.csvExports.send(request, reply, source);
      }
      const { data, ...rest } = await list(asked, id);
      return { ...rest, data: data.map(toAnswer) };
    },
  });
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function toListRequest({ cursor, page, limit, ...filters }: ListQueryValues): ListRequest {
  if (cursor !== undefined && page !== undefined) throw unwantedPage('must not be sent with cursor');
  // Only `page` and `limit` are numbers.
  return { cursor, page, limit, filters: filters as Readonly<Record<string, string | undefined>> };
}

/** A file has all pages. */
function withoutPage(request: ListRequest): ListRequest {
  if (request.page !== undefined) throw unwantedPage('must not be sent with Accept: text/csv');
  return request;
}

function unwantedPage(message: string): Failure {
  const path = 'query.page';
  return new Failure('invalid_request', `${path} ${message}`, { errors: [{ path, message }] });
}
