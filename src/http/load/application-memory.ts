import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '#core/errors.ts';
import type { Caller } from '#core/model/api-key.ts';
import type { Logger } from '#core/platform/logger.ts';
import { headerBytesMax } from './limits.ts';

declare module 'fastify' {
  interface FastifyInstance {
    unsentResponses: UnsentResponses;
  }
  interface FastifyReply {
    /** Call it once the body is complete. Undefined if nothing is counted. */
    leaveBodies: (() => void) | undefined;
  }
}

/** 32 of the largest batches of usage, or 128 of the largest other bodies. Usual ones have a few kilobytes. */
export const keyedBytesMax = 134_217_728;
/** Smaller bodies are always admitted: the limit on connections bounds them, as it bounds headers of this size. */
const keyedBytesMin = headerBytesMax;
const retryAfterSeconds = 1;

/**
 * Limits the memory that arriving bodies may take together, for each application. Otherwise any caller with an API key,
 * even one that only records usage, could send the beginnings of large bodies until the process runs out of memory. The
 * declared length counts, because the body takes that memory sooner or later, and a request is refused before any of it
 * is read. Without a declared length, the largest allowed one counts.
 */
export class KeyedBodies {
  readonly #ofApplication = new Map<string, number>();

  /** Fails if too much of the same application is arriving. */
  admit({ caller, headers, routeOptions }: FastifyRequest, reply: FastifyReply): Failure | undefined {
    const bytesMax = routeOptions.bodyLimit ?? 0;
    const isChunked = headers['transfer-encoding'] !== undefined;
    const bytes = isChunked ? bytesMax : Number(headers['content-length'] ?? 0);
    // A larger body is refused for its size.
    if (caller === undefined || bytes < keyedBytesMin || bytes > bytesMax) return undefined;
    const owner = ownerOf(caller);
    const arriving = (this.#ofApplication.get(owner) ?? 0) + bytes;
    if (arriving > keyedBytesMax) return tooMuch(caller.name);
    this.#ofApplication.set(owner, arriving);
    reply.leaveBodies = () => {
      reply.leaveBodies = undefined;
      const left = (this.#ofApplication.get(owner) ?? 0) - bytes;
      if (left > 0) this.#ofApplication.set(owner, left);
      else this.#ofApplication.delete(owner);
    };
    reply.raw.once('close', () => reply.leaveBodies?.());
    return undefined;
  }
}

/** A body counts until it is complete. */
export function registerKeyedBodies(app: FastifyInstance): KeyedBodies {
  app.decorateReply('leaveBodies', undefined);
  app.addHook('preValidation', (_request, reply, done) => {
    reply.leaveBodies?.();
    done();
  });
  return new KeyedBodies();
}

/** Keys with the same name belong to one application. People share the name, so each is one. */
function ownerOf({ person, name, application }: Caller): string {
  return person === null ? name : application;
}

function tooMuch(name: string): Failure {
  return new Failure(
    'rate_limited',
    `The bodies of requests with the API key name ${name} that have not arrived yet have more than ` +
      `${keyedBytesMax / 1_048_576} MiB together. Send fewer large bodies at once, and retry.`,
    { retryAfterSeconds },
  );
}

/** Of one application: several of the largest pages, or hundreds of usual ones. */
const unsentBytesMax = 33_554_432;
/** Of all together. */
const unsentBytesMaxOfAll = 2 * unsentBytesMax;
/** Smaller responses fit the buffers of their connections. */
const unsentBytesMin = 65_536;

interface Unsent {
  readonly bytes: number;
  readonly cut: () => void;
}

interface OfApplication {
  readonly name: string;
  bytes: number;
  /** The one that waits longest first. */
  readonly responses: Set<Unsent>;
}

/**
 * Limits what the responses that their callers have not read yet may take together, for each application and in all.
 * Anyone with an API key could otherwise request large pages and read none, until the process has no memory. If there
 * is too much, the response that has waited longest is cut off: its caller has had the most time. If it is too much in
 * all, it is one of the application that leaves most unread. A single response of an application is always sent.
 */
export class UnsentResponses {
  readonly #logger: Logger;
  readonly #bytesMax: number;
  readonly #bytesMaxOfAll: number;
  readonly #ofApplication = new Map<string, OfApplication>();
  #bytes = 0;

  constructor(logger: Logger, bytesMax = unsentBytesMax, bytesMaxOfAll = unsentBytesMaxOfAll) {
    this.#logger = logger;
    this.#bytesMax = bytesMax;
    this.#bytesMaxOfAll = bytesMaxOfAll;
  }

  /** Counts a response, or a part of one, until the returned function is called. */
  hold({ caller, id: requestId }: Pick<FastifyRequest, 'caller' | 'id'>, unsent: Unsent): () => void {
    if (caller === undefined) return () => {};
    const name = ownerOf(caller);
    const own = this.#ofApplication.get(name) ?? { name, bytes: 0, responses: new Set() };
    this.#ofApplication.set(name, own);
    own.responses.add(unsent);
    own.bytes += unsent.bytes;
    this.#bytes += unsent.bytes;
    while (own.bytes > this.#bytesMax && this.#cutOldest(own, requestId));
    while (this.#bytes > this.#bytesMaxOfAll && this.#cutOldest(this.#largest(), requestId));
    return () => this.#release(own, unsent);
  }

  /** False if the application has no other response. */
  #cutOldest(application: OfApplication | undefined, requestId: string): boolean {
    const [oldest, next] = application?.responses ?? [];
    if (application === undefined || oldest === undefined || next === undefined) return false;
    this.#release(application, oldest);
    oldest.cut();
    this.#logger.info({ requestId, key: application.name }, 'slow reader of a response disconnected');
    return true;
  }

  /** Rarely needed, and there are as many as applications. */
  #largest(): OfApplication | undefined {
    const several = [...this.#ofApplication.values()].filter(({ responses }) => responses.size > 1);
    return several.sort((a, b) => b.bytes - a.bytes)[0];
  }

  #release(application: OfApplication, held: Unsent): void {
    const { name, responses } = application;
    if (!responses.delete(held)) return;
    application.bytes -= held.bytes;
    this.#bytes -= held.bytes;
    if (responses.size === 0) this.#ofApplication.delete(name);
  }
}

/** Counts each response until its connection has taken it. */
export function registerUnsentResponses(app: FastifyInstance, logger: Logger, bytesMax?: number): void {
  const unsent = new UnsentResponses(logger, bytesMax);
  app.decorate('unsentResponses', unsent);
  app.addHook('onSend', (request, { raw }, payload, done) => {
    if ((typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length >= unsentBytesMin) {
      // The bytes alone: a text would stay in memory beside them until all are sent.
      const bytes = Buffer.from(payload);
      const release = unsent.hold(request, { bytes: bytes.length, cut: () => void raw.destroy() });
      raw.once('close', release);
      return done(null, bytes);
    }
    done(null, payload);
  });
}
