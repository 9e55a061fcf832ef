import type { FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { addressGroup } from './address-group.ts';
import type { ApiKeyRing } from './api-key.ts';
import type { RateDecision, RateLimiter } from './rate-limiter.ts';

/** A person who mistypes a key stays far below this; guessing keys at this rate is hopeless. */
const wrongKeysPerMinute = 60;

declare module 'fastify' {
  interface FastifyRequest {
    /** The name of the request's API key, for the log. */
    keyName: string | undefined;
  }
}

/** Admits a request to /api/v1 if it has a valid key and is within the key's rate limit. */
export class ApiGuard {
  readonly #keys: ApiKeyRing;
  readonly #limiter: RateLimiter;
  readonly #perMinute: number;

  constructor(options: { keys: ApiKeyRing; limiter: RateLimiter; requestsPerMinute: number }) {
    this.#keys = options.keys;
    this.#limiter = options.limiter;
    this.#perMinute = options.requestsPerMinute;
  }

  async admit(request: FastifyRequest): Promise<void> {
    const presented = request.headers['x-api-key'];
    const name = typeof presented === 'string' ? this.#keys.find(presented) : undefined;
    if (name === undefined) {
      await this.#take(
        `address:${addressGroup(request.ip)}`,
        wrongKeysPerMinute,
        'requests without a valid key',
      );
      throw new Failure('unauthorized', 'Send a valid API key in the x-api-key header.');
    }
    request.keyName = name;
    if (this.#perMinute > 0) await this.#take(`key:${name}`, this.#perMinute, 'requests');
  }

  /** Whether the key of an admitted request is still valid, for responses that stay open. */
  isStillAllowed({ headers }: FastifyRequest): boolean {
    const presented = headers['x-api-key'];
    return typeof presented === 'string' && this.#keys.find(presented) !== undefined;
  }

  async #take(bucket: string, limit: number, what: string): Promise<void> {
    const decision: RateDecision = await this.#limiter.take(bucket, limit);
    if (decision.allowed) return;
    const { retryAfterSeconds } = decision;
    throw new Failure(
      'rate_limited',
      `More than ${limit} ${what} in one minute. Retry in ${retryAfterSeconds} s.`,
      {
        retryAfterSeconds,
      },
    );
  }
}
