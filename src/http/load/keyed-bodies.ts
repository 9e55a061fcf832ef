import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '#core/errors.ts';
import { headerBytesMax } from './limits.ts';

/** 32 of the largest batches of usage, or 128 of the largest other bodies. Usual ones have a few kilobytes. */
export const keyedBytesMax = 134_217_728;
/** Smaller bodies are always admitted: the limit on connections bounds them, as it bounds headers of this size. */
const countedBytesMin = headerBytesMax;
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
    if (caller === undefined || bytes < countedBytesMin || bytes > bytesMax) return undefined;
    const owner = caller.person === null ? caller.name : caller.application;
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

declare module 'fastify' {
  interface FastifyReply {
    /** Call it once the body is complete. Undefined if nothing is counted. */
    leaveBodies: (() => void) | undefined;
  }
}

function tooMuch(name: string): Failure {
  return new Failure(
    'rate_limited',
    `The bodies of requests with the API key name ${name} that have not arrived yet have more than ` +
      `${keyedBytesMax / 1_048_576} MiB together. Send fewer large bodies at once, and retry.`,
    { retryAfterSeconds },
  );
}
