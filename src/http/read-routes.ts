import type { FastifyInstance } from 'fastify';
import type { TProperties, TSchema } from 'typebox';
import { Failure } from '../errors.ts';
import type { ListPage, ListRequest } from '../mirrors/list-page.ts';
import { ApiRoutes } from './api-routes.ts';
import { columnsOf } from './csv/csv.ts';
import { type CsvPageRequest, wantsCsv } from './csv/csv-exports.ts';
import { withCsv } from './csv/csv-response.ts';
import { describeResponse, type ListQueryValues, listOf, listQuery } from './docs/api-schema.ts';

interface ListRoute<Row, View> {
  /** With an `:id`, the list belongs to that object. */
  readonly path: `/api/v1/${string}`;
  readonly tag: string;
  readonly plural: string;
  readonly operationId: string;
  readonly summary: string;
  readonly schema: TSchema;
  readonly example: View;
  /** The schemas of the list's own filters. The store declares each under the same name. */
  readonly filters: TProperties;
  readonly list: (request: ListRequest, id: string) => Promise<ListPage<Row>>;
  readonly toResponse: (row: Row) => View;
}

interface ReadRoutes<Row, View>
  extends Pick<ListRoute<Row, View>, 'plural' | 'schema' | 'example' | 'filters' | 'list' | 'toResponse'> {
  /** The resource in singular, as in the spec: `payment`. */
  readonly noun: string;
  readonly read: (id: string) => Promise<Row>;
}

/**
 * The two read routes of every resource that belongs to a customer: the list, newest first, and one object by its id.
 */
export function registerReadRoutes<Row, View>(app: FastifyInstance, routes: ReadRoutes<Row, View>): void {
  const { noun, plural, schema, example, read, toResponse } = routes;
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
    response: { 200: describeResponse(`The ${noun}.`, schema, example) },
    run: async ({ params }) => toResponse(await read(params.id)),
  });
}

/** A list with cursors and filters, newest first. */
export function registerListRoute<Row, View>(app: FastifyInstance, route: ListRoute<Row, View>): void {
  const { path, tag, plural, operationId, summary, schema, filters, list, toResponse } = route;
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
  const page = describeResponse(`One page of ${plural}.`, listOf(schema), example);
  new ApiRoutes(app, tag).add(`GET ${path}`, {
    scope: 'read',
    operationId,
    summary,
    query,
    response: { 200: withCsv(page, columns, route.example) },
    run: async (request, reply) => {
      // Each list has its own types of path and filters.
      const { id = '' } = request.params as { readonly id?: string };
      const asked = toListRequest(request.query as ListQueryValues);
      if (wantsCsv(request)) {
        const read = (page: CsvPageRequest) => list({ ...withoutPage(asked), ...page }, id);
        const source = { name: plural, columns, cursor: asked.cursor, read, toResponse };
        return request.server.csvExports.send(request, reply, source);
      }
      const { data, ...rest } = await list(asked, id);
      return { ...rest, data: data.map(toResponse) };
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
