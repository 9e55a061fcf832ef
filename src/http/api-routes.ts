import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods, RouteOptions } from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { FailureCode } from '#core/errors.ts';
import type { Caller, Scope } from '#core/model/api-key.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import { type AuditedOperation, auditedObjectType } from './audited-requests.ts';
import { IdParams } from './docs/api-schema.ts';
import { idempotencyKeyOf } from './input/request-parts.ts';
import { emptyIfAbsent, optionalBody } from './input/validator.ts';
import { PositionHeaders } from './positions.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The owner of the request's API key. Undefined before the key is checked, and outside /api/v1. */
    caller: Caller | undefined;
  }
  interface FastifyContextConfig {
    /** The scope that an operation of the API needs. Without one, only `admin` may use it. */
    scope?: Scope;
    /** Every failure that the operation may respond with, for the documentation. */
    failures?: readonly FailureCode[];
  }
}

/** A method and a path: `POST /api/v1/payments/:id/capture`. */
type Endpoint = `${'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'} /api/v1/${string}`;

/** What an operation of the API declares. The rest of its schema follows from it. */
interface OperationDeclaration<Responses, Params, Query, Body> {
  readonly scope: Scope;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** Only if the path has parameters other than the `:id` of an object. */
  readonly params?: Params;
  readonly query?: Query;
  readonly headers?: TSchema;
  /** With its example; see `body`. */
  readonly body?: Body;
  /** The successful responses by status, with their examples; see `response`. The lowest status is the default. */
  readonly response: Responses;
  /** Only failures that do not follow from the other fields; see `failuresOf`. */
  readonly failures?: readonly FailureCode[];
  /** Only if a valid body may be larger than others. */
  readonly bodyBytesMax?: number;
  readonly callsProcessor?: true;
  /** Whether it runs even while other requests are paused. */
  readonly isNeverPaused?: true;
  /** Whether a replica may serve it, to a caller that sends a position. It reads through `Database.read`. */
  readonly mayReadReplica?: true;
  /** Whose requests the audit log contains. The default is every write of a person. */
  readonly audited?: AuditedOperation['of'];
  readonly onSend?: RouteOptions['onSend'];
}

interface PlainOperation<Path, Responses, Params, Query, Body>
  extends OperationDeclaration<Responses, Params, Query, Body> {
  readonly run: (
    request: FastifyRequest<RequestParts<Path, Params, Query, Body>>,
    reply: FastifyReply,
  ) => Promise<ResponseOf<Responses> | FastifyReply>;
}

interface KeyedOperation<Path, Responses, Body, Result>
  extends OperationDeclaration<Responses, unknown, unknown, Body> {
  readonly body: Body;
  readonly run: (
    request: FastifyRequest<RequestParts<Path, unknown, unknown, Body>>,
    key: IdempotencyKey | undefined,
  ) => Promise<{ readonly result: Result; readonly replayed: boolean }>;
  readonly toResponse: (result: Result, replayed: boolean, reply: FastifyReply) => ResponseOf<Responses>;
}

/** Adds the operations of one tag. */
export class ApiRoutes {
  readonly #app: FastifyInstance;
  readonly #tag: string;

  constructor(app: FastifyInstance, tag: string) {
    this.#app = app;
    this.#tag = tag;
  }

  /** Adds a read, or a write that takes no idempotency key. */
  add<Path extends Endpoint, Responses extends object, Params, Query, Body>(
    endpoint: Path,
    operation: PlainOperation<Path, Responses, Params, Query, Body>,
  ): void {
    const { run, response } = operation;
    const status = defaultStatus(response);
    this.#app.route<RequestParts<Path, Params, Query, Body>>({
      ...optionsOf(endpoint, this.#tag, operation, []),
      handler: status === 200 ? run : (request, reply) => run(request, reply.code(status)),
    });
  }

  /** Adds a write that takes an idempotency key, in its body or in the header. A header marks a replay. */
  addKeyed<Path extends Endpoint, Responses extends object, Body extends KeyedBody, Result>(
    endpoint: Path,
    operation: KeyedOperation<Path, Responses, Body, Result>,
  ): void {
    const { run, toResponse, response } = operation;
    const status = defaultStatus(response);
    this.#app.route<RequestParts<Path, unknown, unknown, Body>>({
      ...optionsOf(endpoint, this.#tag, operation, keyFailures),
      handler: async (request, reply) => {
        // The schema has checked that the body has the type of `KeyedBody`.
        const { idempotencyKey } = request.body as { readonly idempotencyKey?: string };
        const { result, replayed } = await run(request, idempotencyKeyOf(request, idempotencyKey));
        if (replayed) reply.header('idempotent-replayed', 'true');
        return toResponse(result, replayed, reply.code(status));
      },
    });
  }
}

/** The parts of a request, as its schemas declare them. */
interface RequestParts<Path, Params, Query, Body> {
  readonly Params: Params extends TSchema
    ? Static<Params>
    : Path extends `${string}/:id${string}`
      ? Static<typeof IdParams>
      : unknown;
  readonly Querystring: StaticOf<Query>;
  readonly Body: StaticOf<Body>;
}

/** The schema of a body that may have an idempotency key. */
interface KeyedBody {
  readonly properties: { readonly idempotencyKey: TSchema };
}

type StaticOf<Schema> = Schema extends TSchema ? Static<Schema> : unknown;

/** What one of the successful responses contains. */
type ResponseOf<Responses> = {
  [Status in keyof Responses]: Responses[Status] extends {
    readonly content: { readonly 'application/json': { readonly schema: infer Schema } };
  }
    ? StaticOf<Schema>
    : null;
}[keyof Responses];

function optionsOf(
  endpoint: Endpoint,
  tag: string,
  operation: OperationDeclaration<object, unknown, unknown, unknown>,
  failures: readonly FailureCode[],
) {
  const { scope, operationId, summary, description, query, body, bodyBytesMax, response, onSend } = operation;
  const { mayReadReplica = false, headers = mayReadReplica ? PositionHeaders : undefined } = operation;
  // The type guarantees a method and a path.
  const [method, url] = endpoint.split(' ') as [HTTPMethods, string];
  const params = operation.params ?? (url.includes('/:id') ? IdParams : undefined);
  const isBodyOptional = Object(body)[optionalBody] === true;
  return {
    method,
    url,
    config: {
      scope,
      failures: failuresOf(method, params !== undefined, operation, failures),
      ...(mayReadReplica ? { mayReadReplica } : {}),
      ...(operation.isNeverPaused ? { isNeverPaused: true as const } : {}),
      ...auditOf(method, url, operation),
    },
    schema: {
      tags: [tag],
      operationId,
      summary,
      ...(description === undefined ? {} : { description }),
      ...(params === undefined ? {} : { params }),
      ...(query === undefined ? {} : { querystring: query }),
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body }),
      response,
    },
    ...(bodyBytesMax === undefined ? {} : { bodyLimit: bodyBytesMax }),
    ...(isBodyOptional ? { preValidation: emptyIfAbsent } : {}),
    ...(onSend === undefined ? {} : { onSend }),
  };
}

/** A preview needs the scope `read`, and writes nothing. */
function auditOf(
  method: HTTPMethods,
  url: string,
  operation: Pick<
    OperationDeclaration<object, unknown, unknown, unknown>,
    'scope' | 'operationId' | 'response' | 'audited'
  >,
): { readonly audit?: AuditedOperation } {
  const { scope, operationId: action, response, audited } = operation;
  const of = audited ?? (method === 'GET' || scope === 'read' ? undefined : 'people');
  if (of === undefined) return {};
  return {
    audit: { action, objectType: auditedObjectType(url), outcomes: Object.keys(response).map(Number), of },
  };
}

function defaultStatus(response: object): number {
  return Number(Object.keys(response)[0]);
}

/** Failures that any operation may respond with. */
export const commonFailures: readonly FailureCode[] = [
  'malformed_request',
  'internal_error',
  'database_unavailable',
  'overloaded',
];
/** Failures of an operation to which a body is sent, even if it accepts none. */
export const bodyFailures: readonly FailureCode[] = [
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
];
const keyFailures: readonly FailureCode[] = ['idempotency_key_in_flight', 'idempotency_key_reused'];
const processorFailures: readonly FailureCode[] = [
  'processor_rejected',
  'processor_misconfigured',
  'processor_object_missing',
  'processor_bad_answer',
  'processor_unavailable',
  'processor_timeout',
];

function failuresOf(
  method: HTTPMethods,
  hasParams: boolean,
  operation: Pick<OperationDeclaration<object, unknown, unknown, unknown>, 'failures' | 'callsProcessor'>,
  ofKey: readonly FailureCode[],
): readonly FailureCode[] {
  const { failures = [], callsProcessor } = operation;
  return [
    ...commonFailures,
    'invalid_request',
    'unauthorized',
    'rate_limited',
    'forbidden',
    ...(hasParams ? (['not_found'] as const) : []),
    ...failures,
    ...(method === 'GET' ? [] : bodyFailures),
    ...ofKey,
    ...(callsProcessor ? processorFailures : []),
  ];
}
