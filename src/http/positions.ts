import type { FastifyInstance, FastifyRequest } from 'fastify';
import { withDeadline } from '#core/platform/deadline.ts';
import {
  formatPosition,
  laterOf,
  newReading,
  type Position,
  parsePosition,
  type Reading,
  runReading,
} from '#core/platform/position.ts';
import { Type } from '#core/platform/schemas.ts';
import type { OpenapiDocument } from './docs/components.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined if there is no replica, or if the operation does not read it. */
    reading: Reading | undefined;
  }
  interface FastifyInstance {
    /** Undefined if there is no replica. */
    positions: PositionSource | undefined;
  }
  interface FastifyContextConfig {
    /** Whether a replica may serve the operation. */
    mayReadReplica?: boolean;
  }
}

/** Where the positions of responses come from. */
export interface PositionSource {
  /** A position that includes everything that is committed by now. */
  position(): Promise<Position>;
}

const positionHeader = 'x-till-position';
/** Longer than a position, so that an older release accepts those of a later one, without understanding them. */
const positionLengthMax = 64;
/** The database has just responded, so this is short. A response without a position is still correct. */
const positionTimeoutMs = 1_000;
/** A character that never appears in a cursor. */
const separator = '.';

const about =
  'Only with `DATABASE_REPLICA_URL`. A request that sends it back sees everything that was committed before this ' +
  'response. Send the newest one: `@till/client` does so by itself.';

/** The header of a request that a replica may serve. */
export const PositionHeaders = Type.Object({
  [positionHeader]: Type.Optional(
    Type.String({
      maxLength: positionLengthMax,
      pattern: '^[\\w-]+$',
      description:
        'The `x-till-position` of an earlier response. With it, a replica may serve the request, once it has ' +
        'everything that was committed before that response. Without it, the primary does.',
      examples: ['1c2f0a9b3e5d71-00000000016b3748'],
    }),
  ),
});

/** Adds the position to every response of the API that an operation has created. */
export function registerPositions(app: FastifyInstance, source: PositionSource | undefined): void {
  app.decorate('positions', source);
  app.decorateRequest('reading');
  if (source === undefined) return;
  const operated = new WeakSet<FastifyRequest>();
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.caller === undefined) return done();
    operated.add(request);
    if (request.route.config.mayReadReplica !== true) return done();
    const sent = request.headers[positionHeader];
    request.reading = newReading(typeof sent === 'string' ? parsePosition(sent) : undefined);
    return runReading(request.reading, done);
  });
  app.addHook('onSend', async (request, reply, payload) => {
    // If the database has just failed, asking it would only delay the response.
    if (!operated.has(request) || reply.statusCode >= 500) return payload;
    const position = await responsePosition(request, source);
    if (position !== undefined) reply.header(positionHeader, formatPosition(position));
    return payload;
  });
}

/** A position that includes what the response shows. Undefined if it cannot be read in time. */
async function responsePosition(
  { reading }: FastifyRequest,
  source: PositionSource,
): Promise<Position | undefined> {
  if (reading?.shownAt !== undefined) return reading.shownAt;
  const isOfReplica = reading !== undefined && !reading.hasReadPrimary && reading.replicaAt !== undefined;
  const position = isOfReplica
    ? reading.replicaAt
    : await withDeadline(source.position(), positionTimeoutMs, 'reading the position').catch(() => undefined);
  if (reading !== undefined) reading.shownAt = position;
  return position;
}

/**
 * Reads a page of a list. A cursor has the position of the first page of its walk, so that a replica serves the next
 * page only if it has everything that the first one showed.
 */
export async function readWithPosition<Page extends { readonly nextCursor: string | null }>(
  request: FastifyRequest,
  sent: string | undefined,
  read: (cursor: string | undefined) => Promise<Page>,
): Promise<Page> {
  const { cursor, position } = splitCursor(sent);
  const { reading, server } = request;
  if (reading === undefined || server.positions === undefined) return read(cursor);
  if (position !== undefined)
    reading.position = reading.position === undefined ? position : laterOf(reading.position, position);
  // The pages of an export are read outside the context of the request.
  const page = await runReading(reading, () => read(cursor));
  if (page.nextCursor === null) return page;
  const shownAt = await responsePosition(request, server.positions);
  // After a failover, the position of the first page would lead to the primary forever.
  const first = position !== undefined && position.history === shownAt?.history ? position : shownAt;
  return first === undefined ? page : { ...page, nextCursor: joinCursor(page.nextCursor, first) };
}

function joinCursor(cursor: string, position: Position): string {
  return `${cursor}${separator}${formatPosition(position)}`;
}

/** The cursor of the list itself. */
export function withoutPosition(cursor: string | undefined): string | undefined {
  return splitCursor(cursor).cursor;
}

/** Without a valid position, the text is returned unchanged, and is later refused as a cursor. */
function splitCursor(sent: string | undefined): {
  readonly cursor: string | undefined;
  readonly position?: Position | undefined;
} {
  const at = sent?.lastIndexOf(separator) ?? -1;
  const position = sent === undefined || at === -1 ? undefined : parsePosition(sent.slice(at + 1));
  return position === undefined ? { cursor: sent } : { cursor: sent?.slice(0, at), position };
}

/** Adds the header to the successful responses of the API. */
export function addPositionHeaders<T extends OpenapiDocument>(document: T): T {
  const reference = { $ref: '#/components/headers/Position' };
  for (const [path, methods] of Object.entries(document.paths)) {
    if (!path.startsWith('/api/v1/')) continue;
    for (const { responses } of Object.values(methods))
      for (const [status, response] of Object.entries(responses))
        if (status.startsWith('2'))
          responses[status] = {
            ...response,
            headers: { ...headersOf(response), [positionHeader]: reference },
          };
  }
  const headers = { Position: { description: about, schema: { type: 'string' } } };
  return { ...document, components: { ...document.components, headers } };
}

function headersOf(response: object): object {
  return 'headers' in response && typeof response.headers === 'object' ? { ...response.headers } : {};
}
