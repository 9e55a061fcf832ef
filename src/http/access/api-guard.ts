import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { Failure } from '#core/errors.ts';
import { type Caller, type Scope, scopes } from '#core/model/api-key.ts';
import type { KeyUse } from '#core/model/audit-entry.ts';
import { replaceWithProblem } from '../failures/respond-to-failure.ts';
import { type ApiKey, keyLengthMax } from './api-key.ts';
import { isConsoleCall } from './console-calls.ts';
import type { RateDecision, RateLimiter } from './rate-limiter.ts';

/** A person who mistypes an API key stays far below this. Guessing API keys at this rate cannot succeed. */
const wrongKeysPerMinute = 60;

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

  /** A promise only if something must be read or counted outside the process, because every request passes here. */
  admit(request: FastifyRequest): Promise<void> | undefined {
    // The cookie counts only for the console's requests, and an API key only for all others.
    const caller =
      this.#sessions !== undefined && isConsoleCall(request)
        ? this.#sessions.admit(request)
        : this.identify(request.headers['x-api-key'], request);
    if (caller instanceof Promise) return caller.then((found) => this.#admitCaller(found, request));
    return this.#admitCaller(caller, request);
  }

  #admitCaller(caller: Caller, request: FastifyRequest): Promise<void> | undefined {
    request.caller = caller;
    const scope = request.is404 ? undefined : (request.route.config.scope ?? 'admin');
    const counting = this.count(caller, scope);
    if (counting === undefined) return requireScope(scope, caller);
    return counting.then(() => requireScope(scope, caller));
  }

  /** Counts a request of a caller, to an operation with this scope. Fails if there are too many. */
  count({ person, name, application }: Caller, scope?: Scope): Promise<void> | undefined {
    const rate = this.#rateOf(person === null ? name : application, scope);
    return rate.limit > 0 ? this.#take(rate) : undefined;
  }

  /**
   * Fails if the API key or the session of an admitted request has since ended. Call it after a wait, before work is
   * done or data is shown for the request. A promise only if it fails, or if the database must be asked.
   */
  confirm(request: FastifyRequest): Promise<void> | undefined {
    // Only requests to the API have a caller.
    const isValid = request.caller?.isValid() ?? true;
    return isValid === true ? undefined : requireValid(isValid, request);
  }

  /**
   * The owner of an API key that a request presents. Wrong API keys are counted for their address, and refused with
   * another status when there are too many. A right one is never refused because of wrong ones from the same address:
   * API keys from the environment are known, and all requests that wait for stored ones share one lookup. A promise
   * only if the API key is not known yet.
   */
  identify(presented: unknown, request: FastifyRequest): Caller | Promise<Caller> {
    const found = this.#find(presented, request);
    if (found instanceof Promise) return found.then((caller) => caller ?? this.#refuse(request));
    return found ?? this.#refuse(request);
  }

  /**
   * Whether a text is a valid API key from the environment. API keys that Till creates are recognised by their form.
   */
  isKey(text: string): boolean {
    return this.#keys.find(text) !== undefined;
  }

  #find(presented: unknown, { ip, id: requestId, response }: FastifyRequest) {
    if (typeof presented !== 'string') return undefined;
    const outcome = () => (response.headersSent || response.closed ? response.statusCode : undefined);
    const use = { address: ip, requestId, outcome };
    return this.#keys.find(presented) ?? this.#storedKeys?.find(presented, use);
  }

  async #refuse(request: FastifyRequest): Promise<never> {
    await this.countRefusal(request);
    throw unauthorized();
  }

  /**
   * Fails after too many wrong API keys and refused sign-ins from an address. Only for requests that need no API key.
   */
  async refuseGuesses({ ip }: Pick<FastifyRequest, 'ip'>): Promise<void> {
    const wrongKeys = wrongKeysOf(addressGroup(ip));
    refuseAbove(wrongKeys, await this.#limiter.peek(wrongKeys.bucket, wrongKeys.limit));
  }

  /** Counts a wrong API key or a refused sign-in. Fails if there are too many from its address. */
  async countRefusal({ ip }: Pick<FastifyRequest, 'ip'>): Promise<void> {
    await this.#take(wrongKeysOf(addressGroup(ip)));
  }

  #rateOf(owner: string, scope: Scope | undefined): Rate {
    if (scope === 'usage')
      return { bucket: `usage:${owner}`, limit: this.#usagePerMinute, what: 'requests about usage' };
    return { bucket: `key:${owner}`, limit: this.#perMinute, what: 'requests' };
  }

  #take(rate: Rate): Promise<void> | undefined {
    const decision = this.#limiter.take(rate.bucket, rate.limit);
    if (decision instanceof Promise) return decision.then((decided) => refuseAbove(rate, decided));
    return refuseAbove(rate, decision);
  }
}

interface RingEntry {
  readonly caller: Caller;
  readonly key: string;
  readonly digest: Buffer;
  /** The same digest as text. */
  readonly text: string;
}

/**
 * The API keys from the environment. Finds the one that a request carries, in a time that does not depend on the key:
 * it compares all digests, which use a secret of this process, each in constant time.
 */
export class ApiKeyRing {
  readonly #salt = randomBytes(32).toString('hex');
  #digests: readonly RingEntry[] = [];

  constructor(keys: readonly ApiKey[]) {
    this.replace(keys);
  }

  replace(keys: readonly ApiKey[]): void {
    this.#digests = keys.map(({ name, application, key }) => {
      const text = this.#digestOf(key);
      const digest = Buffer.from(text, 'hex');
      const isValid = () => this.#digests.some((current) => current.text === text);
      const caller = { id: null, name, application, person: null, scopes, expiresAt: null, isValid };
      return { caller, key, text, digest };
    });
  }

  /** The owner of an API key. Undefined if the key is not valid. These keys have every scope. */
  find(presented: string): Caller | undefined {
    if (presented.length > keyLengthMax) return undefined;
    const digest = Buffer.from(this.#digestOf(presented), 'hex');
    let found: Caller | undefined;
    for (const candidate of this.#digests) {
      if (timingSafeEqual(candidate.digest, digest)) found = candidate.caller;
    }
    return found;
  }

  /** The owner of the API key with which a session was opened. Undefined if the key is no longer valid. */
  ofSession(token: string, proof: Buffer): Caller | undefined {
    return this.#digests.find(({ key }) => timingSafeEqual(sessionProof(token, key), proof))?.caller;
  }

  #digestOf(key: string): string {
    // As hexadecimal text, which Node produces three times as fast as bytes.
    return hash('sha256', this.#salt + key, 'hex');
  }
}

/**
 * Proves that a session was opened with an API key. The token is secret and random, so a reader of the proof cannot
 * even test guesses of the API key.
 */
export function sessionProof(token: string, key: string): Buffer {
  return Buffer.from(hash('sha256', `${token} ${key}`, 'hex'), 'hex');
}

interface Rate {
  readonly bucket: string;
  readonly limit: number;
  /** The counted requests, in the plural. */
  readonly what: string;
}

function wrongKeysOf(address: string): Rate {
  const [bucket, what] = [`address:${address}`, 'requests without a valid API key'];
  return { bucket, limit: wrongKeysPerMinute, what };
}

function refuseAbove({ limit, what }: Rate, { allowed, retryAfterSeconds }: RateDecision): undefined {
  if (allowed) return undefined;
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

/** An unknown route is a 404 for every caller. */
function requireScope(scope: Scope | undefined, caller: Caller): undefined {
  if (scope !== undefined && !grants(caller.scopes, scope)) throw forbidden(scope, caller);
}

/**
 * Whether an API key with these scopes has the scope `needed`. `admin` implies all, `write` implies `usage`, and every
 * scope but `usage` implies `read`: an application that only reports usage sees no customer.
 */
export function grants(held: readonly Scope[], needed: Scope): boolean {
  if (held.includes(needed) || held.includes('admin')) return true;
  if (needed === 'usage') return held.includes('write');
  return needed === 'read' && held.some((scope) => scope !== 'usage');
}

function forbidden(scope: Scope, { person }: Caller): Failure {
  const detail =
    person === null
      ? `The API key needs the scope \`${scope}\`. Use a key that has it, or ask an administrator for one.`
      : `This needs the scope \`${scope}\`, which none of your groups has. Ask an administrator for access.`;
  return new Failure('forbidden', detail);
}

/**
 * Checks the API key of a request again when its body is complete, and when its response is. Both can happen half a
 * minute after the headers, and an API key must have no effect five seconds after it was revoked or has expired. Waits
 * within a handler use `confirmCaller`, and responses that stay open use `OpenReaders`.
 */
export function registerKeyChecks(app: FastifyInstance, guard: Pick<ApiGuard, 'confirm'>): void {
  app.addHook('preValidation', (request, _reply, done) => {
    const pending = guard.confirm(request);
    if (pending === undefined) done();
    else pending.then(() => done(), done);
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const pending = showsNothing(reply.statusCode) ? undefined : guard.confirm(request);
    if (pending === undefined) return done(null, payload);
    return void pending.then(
      () => done(null, payload),
      (error: Error) => {
        if (payload instanceof Readable) payload.destroy();
        if (error instanceof Failure) done(null, replaceWithProblem(reply, error, request.id));
        else done(error);
      },
    );
  });
}

/** A request that revokes its own API key gets its response. Responses with another status contain no object. */
function showsNothing(status: number): boolean {
  return status === 204 || status === 401 || status >= 500;
}

/**
 * The group of addresses that the rate limit counts together. The owner of one IPv6 address usually has all 2^64 of its
 * network, and could use another one for every request. IPv4 addresses are scarce, so each counts alone, in both
 * notations.
 */
export function addressGroup(address: string): string {
  const [bare = ''] = address.split('%');
  const version = isIP(bare);
  // A proxy may pass on any text; texts that are not addresses share one count.
  if (version === 0) return 'unknown';
  if (version === 4) return bare;
  const parsed = ipaddr.process(bare);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
