import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from '#core/platform/logger.ts';

declare module 'fastify' {
  interface FastifyInstance {
    unsentResponses: UnsentResponses;
  }
}

/** Several of the largest pages, or hundreds of usual ones. */
export const unsentBytesMax = 33_554_432;
/** Smaller responses fit the buffers of their connections. */
const countedBytesMin = 65_536;

interface Unsent {
  readonly bytes: number;
  readonly cut: () => void;
}

interface OfApplication {
  bytes: number;
  /** The one that waits longest first. */
  readonly responses: Set<Unsent>;
}

/**
 * Limits what the responses that their callers have not read yet may take together, for each application. Anyone with
 * an API key could otherwise request large pages and read none, until the process has no memory. If there is too much,
 * the response that has waited longest is cut off: its caller has had the most time. A single response is always sent.
 */
export class UnsentResponses {
  readonly #logger: Logger;
  readonly #bytesMax: number;
  readonly #ofApplication = new Map<string, OfApplication>();

  constructor(logger: Logger, bytesMax = unsentBytesMax) {
    this.#logger = logger;
    this.#bytesMax = bytesMax;
  }

  /** Counts a response, or a part of one, until the returned function is called. */
  hold({ caller, id: requestId }: Pick<FastifyRequest, 'caller' | 'id'>, unsent: Unsent): () => void {
    if (caller === undefined) return () => {};
    const name = caller.person === null ? caller.name : caller.application;
    const own = this.#ofApplication.get(name) ?? { bytes: 0, responses: new Set() };
    this.#ofApplication.set(name, own);
    own.bytes += unsent.bytes;
    own.responses.add(unsent);
    const release = (held: Unsent) => {
      if (!own.responses.delete(held)) return;
      own.bytes -= held.bytes;
      if (own.responses.size === 0) this.#ofApplication.delete(name);
    };
    for (const oldest of own.responses) {
      if (own.bytes <= this.#bytesMax || own.responses.size === 1) break;
      release(oldest);
      oldest.cut();
      this.#logger.info({ requestId, key: name }, 'slow reader of a response disconnected');
    }
    return () => release(unsent);
  }
}

/** Counts each response until its connection has taken it. */
export function registerUnsentResponses(app: FastifyInstance, logger: Logger, bytesMax?: number): void {
  const unsent = new UnsentResponses(logger, bytesMax);
  app.decorate('unsentResponses', unsent);
  app.addHook('onSend', (request, { raw }, payload, done) => {
    if ((typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length >= countedBytesMin) {
      // The bytes alone: a text would stay in memory beside them until all are sent.
      const bytes = Buffer.from(payload);
      const release = unsent.hold(request, { bytes: bytes.length, cut: () => void raw.destroy() });
      raw.once('close', release);
      return done(null, bytes);
    }
    done(null, payload);
  });
}
