import type { FastifyInstance, FastifyRequest, onSendHookHandler, preValidationHookHandler } from 'fastify';
import { Failure } from '#core/errors.ts';
import type { NewAuditEntry } from '#core/model/audit-entry.ts';
import type { AuditedRequest } from '#core/platform/cause.ts';
import { isUuid } from '#core/platform/id.ts';
import type { Logger } from '#core/platform/logger.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import { wantsCsv } from './csv/csv-exports.ts';
import { replaceWithProblem } from './failures/respond-to-failure.ts';

/** What the audit log says about the requests to an operation. */
export interface AuditedOperation {
  readonly action: string;
  readonly objectType: string;
  /** The statuses of a success, in ascending order: for an object that existed, and for a created one. */
  readonly outcomes: readonly number[];
  /** Whether it contains requests of API keys, or only those of people. Of lists it contains exports. */
  readonly of: 'everyone' | 'people' | 'exports';
}

declare module 'fastify' {
  interface FastifyRequest {
    audit: PendingEntry | undefined;
  }
  interface FastifyContextConfig {
    audit?: AuditedOperation;
  }
}

export interface AuditWriter {
  write(tx: Transaction, entry: NewAuditEntry): void;
  writeAlone(entry: NewAuditEntry): Promise<void>;
}

interface PendingEntry extends AuditedRequest {
  /** Under load, an export is refused before it has read anything. An audit entry about that would add to the load. */
  readonly isExport: boolean;
  readonly isWritten: boolean;
  /** Writes the entry of a request that had no transaction, or that failed. */
  writeAlone(outcome: number): Promise<void>;
}

/**
 * Writes the entries of requests to the operations that declare them. A change writes its entry in its own transaction
 * (`auditOperation`). All others are written before the response is sent, even those of requests that were refused
 * before their handler.
 */
export function registerAudit(app: FastifyInstance, log: AuditWriter, logger: Logger): void {
  app.decorateRequest('audit', undefined);
  const prepare: preValidationHookHandler = (request, _reply, done) => {
    request.audit = begin(request, log);
    done();
  };
  const write: onSendHookHandler = (request, reply, payload, done) => {
    const { statusCode } = reply;
    const audit = request.audit ?? (isLoggedRefusal(statusCode) ? begin(request, log) : undefined);
    if (audit === undefined || audit.isWritten || (audit.isExport && statusCode === 503))
      return done(null, payload);
    return void audit.writeAlone(statusCode).then(
      () => done(null, payload),
      (error: Error) => {
        // As with requests: an unavailable database is not a defect.
        const level = error instanceof Failure ? 'warn' : 'error';
        logger[level]({ err: error, requestId: request.id }, 'audit entry not written');
        // A request that has failed keeps its own failure.
        if (statusCode >= 400) done(null, payload);
        else if (error instanceof Failure) done(null, replaceWithProblem(reply, error, request.id));
        else done(error);
      },
    );
  };
  app.addHook('onRoute', (route) => {
    if (route.config?.audit === undefined) return;
    // The hooks of all routes run before these.
    route.preValidation = [...[route.preValidation ?? []].flat(), prepare];
    route.onSend = [...[route.onSend ?? []].flat(), write];
  });
}

/** The rate limit also bounds how many entries refusals leave, so a request above it leaves none. */
function isLoggedRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 429;
}

/** Undefined if the audit log does not contain such requests. */
function begin(request: FastifyRequest, log: AuditWriter): PendingEntry | undefined {
  const { caller, params, ip: address, id: requestId } = request;
  if (caller === undefined) return undefined;
  const { audit: operation } = request.route.config;
  if (operation === undefined) return undefined;
  const { of, outcomes, ...described } = operation;
  if (of === 'people' ? caller.person === null : of === 'exports' && !wantsCsv(request)) return undefined;
  const actor = { keyName: caller.name, person: caller.person?.email ?? null };
  // Every path with a parameter names it `id`.
  const { id = null } = Object(params) as { readonly id?: string | null };
  let isInChange = false;
  let isAlone = false;
  const entry: PendingEntry = {
    isExport: of === 'exports',
    objectId: loggableId(id),
    get isWritten() {
      return isInChange || isAlone;
    },
    write(tx, isExisting) {
      // A change in several transactions writes its entry in the first one. After the deadline of the request, the log
      // already has its 503, and a second entry records the outcome.
      if (isInChange) return;
      const outcome = outcomes.at(isExisting ? 0 : -1) ?? 200;
      log.write(tx, { ...described, actor, address, requestId, objectId: entry.objectId, outcome });
      tx.afterCommit(() => {
        isInChange = true;
      });
    },
    writeAlone(outcome) {
      isAlone = true;
      return log.writeAlone({ ...described, actor, address, requestId, objectId: entry.objectId, outcome });
    },
  };
  return entry;
}

/** A path can contain any text, personal data too. The log gets it only if it can be an id. */
function loggableId(id: string | null): string | null {
  if (id === null || !/^[\w-]{1,100}$/.test(id)) return null;
  return isUuid(id) ? id.toLowerCase() : id;
}

/** `/api/v1/event-endpoints/:id/replay` concerns an `event_endpoint`. */
export function auditedObjectType(url: string): string {
  const [, collection = ''] = /^\/api\/v1\/([\w-]+)/.exec(url) ?? [];
  return collection.replace(/s$/, '').replaceAll('-', '_');
}
