import type { FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { type Caller, grants, type Scope } from '../../keys/key.ts';
import { addressGroup } from './address-group.ts';
import type { ApiKeyRing } from './api-key.ts';
import type { RateDecision, RateLimiter } from './rate-limiter.ts';

/** A person who mistypes a key stays far below this; guessing keys at this rate is hopeless. */
const wrongKeysPerMinute = 60;

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose API key the request carries. Undefined before it is checked, and outside of /api/v1. */
    caller: Caller | undefined;
  }
  interface FastifyContextConfig {
    /** The scope that an operation of the API needs. Without one, only `admin` may use it. */
    scope?: Scope;
  }
}

/** The keys that were created through the API or the till command. */
interface StoredKeys {
  /** A promise only if the key is not known yet and must be looked up. */
  find(presented: string): Caller | undefined | Promise<Caller | undefined>;
}

/** Admits a request to /api/v1 if it has a valid key with the scope of the route, and is within the key's rate limit. */
export class ApiGuard {
  readonly #keys: ApiKeyRing;
  readonly #storedKeys: StoredKeys | undefined;
  readonly #limiter: RateLimiter;
  readonly #perMinute: number;

  constructor(options: {
    readonly keys: ApiKeyRing;
    readonly storedKeys?: StoredKeys;
    readonly limiter: RateLimiter;
    readonly requestsPerMinute: number;
  }) {
    this.#keys = options.keys;
    this.#storedKeys = options.storedKeys;
    this.#limiter = options.limiter;
    this.#perMinute = options.requestsPerMinute;
  }

  async admit(request: FastifyRequest): Promise<void> {
    const presented = request.headers['x-api-key'];
    const caller =
      typeof presented === 'string'
        ? (this.#keys.find(presented) ?? (await this.#storedKeys?.find(presented)))
        : undefined;
    if (caller === undefined) {
      await this.#take(
        `address:${addressGroup(request.ip)}`,
        wrongKeysPerMinute,
        'requests without a valid key',
      );
      throw unauthorized();
    }
    request.caller = caller;
    if (this.#perMinute > 0) await this.#take(`key:${caller.name}`, this.#perMinute, 'requests');
    // An unknown route is a 404 for every key.
    if (request.is404) return;
    const { scope = 'admin' } = request.routeOptions.config;
    if (!grants(caller.scopes, scope)) throw forbidden(scope);
  }

  /**
   * Fails if the key of a request that was admitted has been revoked or has expired since. Call it after a wait, before
   * something is done or shown for the request. A promise only if it fails, or if the database must be asked.
   */
  confirm({ caller }: FastifyRequest): Promise<void> | undefined {
    // Only requests to the API have a key.
    const isValid = caller?.isValid() ?? true;
    return isValid === true ? undefined : requireValid(isValid);
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

async function requireValid(isValid: boolean | Promise<boolean>): Promise<void> {
  if (!(await isValid)) throw unauthorized();
}

function unauthorized(): Failure {
  return new Failure('unauthorized', 'Send a valid API key in the x-api-key header.');
}

function forbidden(scope: Scope): Failure {
  return new Failure(
    'forbidden',
    `The API key needs the scope \`${scope}\`. Use a key that has it, or ask an administrator for one.`,
  );
}
