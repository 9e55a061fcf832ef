import { hash, randomBytes } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { type Caller, grants, type Scope } from '../../model/api-key.ts';
import type { KeyUse } from '../../model/audit-entry.ts';
import { addressGroup } from './address-group.ts';
import type { ApiKeyRing } from './api-key.ts';
import { isConsoleCall } from './console-calls.ts';
import type { RateDecision, RateLimiter } from './rate-limiter.ts';

/** A person who mistypes an API key stays far below this; guessing keys at this rate is hopeless. */
const wrongKeysPerMinute = 60;
/** More addresses than an application has. About 100 bytes each. The oldest entries are removed first. */
const acceptedMax = 10_000;

/** The API keys that were created through the API or the command line. */
interface StoredKeys {
  /** A promise only if the API key is not known yet and must be looked up. */
  find(presented: string, use: KeyUse): Caller | undefined | Promise<Caller | undefined>;
}

/** The sessions of the console. */
interface ConsoleSessions {
  /** The owner of the session of a request. Fails unless the console has sent it, with a valid session. */
  admit(request: FastifyRequest): Promise<Caller>;
}

/**
 * Admits a request to /api/v1 if it has a valid API key with the scope of the route, and is within the key's rate
 * limit.
 */
export class ApiGuard {
  readonly #keys: ApiKeyRing;
  readonly #storedKeys: StoredKeys | undefined;
  readonly #sessions: ConsoleSessions | undefined;
  readonly #limiter: RateLimiter;
  readonly #perMinute: number;
  readonly #usagePerMinute: number;
  /** Digests of API keys and the addresses from which they were accepted. */
  readonly #accepted = new Set<string>();
  readonly #salt = randomBytes(32).toString('hex');

  constructor(options: {
    readonly keys: ApiKeyRing;
    readonly storedKeys?: StoredKeys;
    /** Undefined if there is no console. */
    readonly sessions?: ConsoleSessions | undefined;
    readonly limiter: RateLimiter;
    readonly requestsPerMinute: number;
    /** For operations of the scope `usage`, which applications call far more often. */
    readonly usageRequestsPerMinute?: number;
  }) {
    this.#keys = options.keys;
    this.#storedKeys = options.storedKeys;
    this.#sessions = options.sessions;
    this.#limiter = options.limiter;
    this.#perMinute = options.requestsPerMinute;
    this.#usagePerMinute = options.usageRequestsPerMinute ?? 0;
  }

  async admit(request: FastifyRequest): Promise<void> {
    // A cookie counts only here, and an API key only for the other requests.
    const caller =
      this.#sessions !== undefined && isConsoleCall(request)
        ? await this.#sessions.admit(request)
        : await this.identify(request.headers['x-api-key'], request);
    request.caller = caller;
    const scope = request.is404 ? undefined : (request.route.config.scope ?? 'admin');
    await this.count(caller, scope);
    // An unknown route is a 404 for every caller.
    if (scope === undefined) return;
    if (!grants(caller.scopes, scope)) throw forbidden(scope, caller);
  }

  /** Counts a request of a caller, to an operation with this scope. Fails if there are too many. */
  async count({ person, name, application }: Caller, scope?: Scope): Promise<void> {
    const rate = this.#rateOf(person === null ? name : application, scope);
    if (rate.limit > 0) await this.#take(rate);
  }

  /**
   * Fails if the API key or the session of an admitted request has since ended. Call it after a wait, before
   * something is done or shown for the request. A promise only if it fails, or if the database must be asked.
   */
  confirm(request: FastifyRequest): Promise<void> | undefined {
    // Only requests to the API have a caller.
    const isValid = request.caller?.isValid() ?? true;
    return isValid === true ? undefined : requireValid(isValid, request);
  }

  /**
   * The owner of an API key that a request presents. After too many invalid API keys from an address, further unknown keys from
   * there are refused without a check, so that guessing reveals nothing. Keys that were accepted from that address
   * before still work, so other applications behind it continue. Only the first request of a key from an address reads
   * the counter.
   */
  async identify(presented: unknown, { ip, id: requestId, response }: FastifyRequest): Promise<Caller> {
    const address = addressGroup(ip);
    const pair = hash('sha256', `${this.#salt} ${address} ${presented}`, 'base64url');
    const isKnown = this.#accepted.has(pair);
    if (!isKnown) await this.refuseGuesses({ ip });
    const outcome = () => (response.headersSent || response.closed ? response.statusCode : undefined);
    const caller =
      typeof presented === 'string'
        ? (this.#keys.find(presented) ??
          (await this.#storedKeys?.find(presented, { address: ip, requestId, outcome })))
        : undefined;
    if (caller === undefined) {
      await this.countRefusal({ ip });
      throw unauthorized();
    }
    if (!isKnown) this.#accept(pair);
    return caller;
  }

  /** Fails after too many wrong API keys and refused sign-ins from an address. */
  async refuseGuesses({ ip }: Pick<FastifyRequest, 'ip'>): Promise<void> {
    const wrongKeys = wrongKeysOf(addressGroup(ip));
    refuseAbove(wrongKeys, await this.#limiter.peek(wrongKeys.bucket, wrongKeys.limit));
  }

  /** Counts a wrong API key or a refused sign-in. Fails if there are too many from its address. */
  countRefusal({ ip }: Pick<FastifyRequest, 'ip'>): Promise<void> {
    return this.#take(wrongKeysOf(addressGroup(ip)));
  }

  #rateOf(owner: string, scope: Scope | undefined): Rate {
    if (scope === 'usage')
      return { bucket: `usage:${owner}`, limit: this.#usagePerMinute, what: 'requests about usage' };
    return { bucket: `key:${owner}`, limit: this.#perMinute, what: 'requests' };
  }

  #accept(pair: string): void {
    this.#accepted.add(pair);
    if (this.#accepted.size <= acceptedMax) return;
    for (const oldest of this.#accepted) return void this.#accepted.delete(oldest);
  }

  async #take(rate: Rate): Promise<void> {
    refuseAbove(rate, await this.#limiter.take(rate.bucket, rate.limit));
  }
}

interface Rate {
  readonly bucket: string;
  readonly limit: number;
  /** What is counted, in the plural. */
  readonly what: string;
}

function wrongKeysOf(address: string): Rate {
  const [bucket, what] = [`address:${address}`, 'requests without a valid API key'];
  return { bucket, limit: wrongKeysPerMinute, what };
}

function refuseAbove({ limit, what }: Rate, { allowed, retryAfterSeconds }: RateDecision): void {
  if (allowed) return;
  throw new Failure(
    'rate_limited',
    `More than ${limit} ${what} in one minute. Retry in ${retryAfterSeconds} s.`,
    { retryAfterSeconds },
  );
}

async function requireValid(isValid: boolean | Promise<boolean>, request: FastifyRequest): Promise<void> {
  if (!(await isValid)) throw isConsoleCall(request) ? signedOut() : unauthorized();
}

export function signedOut(): Failure {
  return new Failure('unauthorized', 'Sign in to the console.');
}

function unauthorized(): Failure {
  return new Failure('unauthorized', 'Send a valid API key in the x-api-key header.');
}

function forbidden(scope: Scope, { person }: Caller): Failure {
  const detail =
    person === null
      ? `The API key needs the scope \`${scope}\`. Use a key that has it, or ask an administrator for one.`
      : `This needs the scope \`${scope}\`, which none of your groups has. Ask an administrator for access.`;
  return new Failure('forbidden', detail);
}
