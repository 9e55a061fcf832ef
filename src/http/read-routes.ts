import type { FastifyInstance } from 'fastify';
import type { TProperties, TSchema } from 'typebox';
import { invalidRequest } from '#core/errors.ts';
import type { FilterValues, ListPage, ListRequest } from '#core/model/list-request.ts';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from './api-routes.ts';
import { columnsOf } from './csv/csv.ts';
import { type CsvPageRequest, wantsCsv } from './csv/csv-exports.ts';
import { withCsv } from './csv/csv-response.ts';
import { describeResponse, Include, type ListQueryValues, listOf, listQuery } from './docs/api-schema.ts';
import { readWithPosition, withoutPosition } from './positions.ts';

/** How a row shows its customer, if a request includes it. */
interface IncludedCustomers<Row> {
  readonly customerIdOf: (row: Row) => string | null;
  /** Reads the customers of all rows of a page in one statement. Deleted customers are left out. */
  readonly find: (ids: readonly string[]) => Promise<ReadonlyMap<string, object>>;
}

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
  /** Refuses combinations of filters that have no meaning. */
  readonly check?: (filters: FilterValues) => void;
  /** The amounts by which the list can be sorted, as in the store. */
  readonly amounts?: readonly string[];
  /** Only if the objects belong to customers. The schema then has the field `customer`. */
  readonly customers?: IncludedCustomers<Row>;
  readonly list: (request: ListRequest, id: string) => Promise<ListPage<Row>>;
  readonly toResponse: (row: Row) => View;
}

interface ReadRoutes<Row, View>
  extends Omit<ListRoute<Row, View>, 'path' | 'tag' | 'operationId' | 'summary' | 'customers'> {
  readonly customers: IncludedCustomers<Row>;
  /** The resource in singular, as in the spec: `payment`. */
  readonly noun: string;
  readonly read: (id: string) => Promise<Row>;
}

/**
 * The two read routes of every resource that belongs to a customer: the list, newest first, and one object by its id.
 */
export function registerReadRoutes<Row, View>(app: FastifyInstance, routes: ReadRoutes<Row, View>): void {
  const { noun, plural, schema, example, read, customers, toResponse } = routes;
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
    query: Type.Object({ include: Include }, { additionalProperties: false }),
    response: { 200: describeResponse(`The ${noun}.`, schema, example) },
    run: async ({ params, query }) => {
      const row = await read(params.id);
      if (query.include === undefined) return toResponse(row);
      const [shown] = await withCustomers([row], customers, toResponse);
      return shown;
    },
  });
}

/** Rows as the API shows them, with their customers. */
export async function withCustomers<Row, View>(
  rows: readonly Row[],
  { customerIdOf, find }: IncludedCustomers<Row>,
  toResponse: (row: Row) => View,
) {
  const ids = rows.map(customerIdOf);
  const found = await find(ids.filter((id) => id !== null));
  return rows.map((row, index) => ({ ...toResponse(row), customer: found.get(ids[index] ?? '') ?? null }));
}

/** The columns of an included customer. A file already has its id. */
const customerColumns = ['email', 'name'].map((field) => ({
  name: `customer.${field}`,
  path: ['customer', field],
}));

/** A list with cursors and filters. */
export function registerListRoute<Row, View>(app: FastifyInstance, route: ListRoute<Row, View>): void {
  const { path, tag, plural, operationId, summary, schema, list, customers, toResponse } = route;
  const example = {
    data: [route.example],
    total: 1,
    totalCapped: false,
    page: 1,
    limit: 20,
    nextCursor: null,
  };
  const columns = columnsOf(schema).filter((column) => column.path[0] !== 'customer');
  const filters = { ...route.filters, ...(customers === undefined ? {} : { include: Include }) };
  const query: TSchema = listQuery(filters, route.amounts);
  const page = describeResponse(`One page of ${plural}.`, listOf(schema), example);
  new ApiRoutes(app, tag).add(`GET ${path}`, {
    scope: 'read',
    operationId,
    summary,
    query,
    mayReadReplica: true,
    audited: 'exports',
    response: {
      200: withCsv(page, columns, route.example, customers === undefined ? [] : customerColumns),
    },
    run: async (request, reply) => {
      // Each list has its own types of path and filters.
      const { id = '' } = request.params as { readonly id?: string };
      const { include, ...rest } = request.query as ListQueryValues;
      const asked = toListRequest(rest);
      route.check?.(asked.filters);
      const included = include === undefined ? undefined : customers;
      const readPage = async (wanted: ListRequest) => {
        const { data, ...page } = await list(wanted, id);
        if (included === undefined) return { ...page, data: data.map(toResponse) };
        return { ...page, data: await withCustomers(data, included, toResponse) };
      };
      const read = (wanted: ListRequest) =>
        readWithPosition(request, wanted.cursor, (cursor) =>
          readPage({ ...wanted, cursor, upTo: withoutPosition(wanted.upTo) }),
        );
      if (!wantsCsv(request)) return read(asked);
      return request.server.csvExports.send(request, reply, {
        name: plural,
        columns: included === undefined ? columns : [...columns, ...customerColumns],
        cursor: asked.cursor,
        read: (page: CsvPageRequest) => read({ ...withoutPage(asked), ...page }),
      });
    },
  });
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function toListRequest({ cursor, page, limit, sort, ...given }: ListQueryValues): ListRequest {
  if (cursor !== undefined && page !== undefined)
    throw invalidRequest('query.page', 'must not be sent with cursor');
  const filters = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
  return { cursor, page, limit, sort, filters };
}

/** A file has all pages. */
function withoutPage(request: ListRequest): ListRequest {
  if (request.page !== undefined)
    throw invalidRequest('query.page', 'must not be sent with Accept: text/csv');
  return request;
}
