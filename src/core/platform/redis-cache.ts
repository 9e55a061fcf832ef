import type { Cache } from './cache.ts';
import { withDeadline } from './deadline.ts';
import type { Logger } from './logger.ts';
import { connectTimeoutMs, openPlainLink, type RedisLink } from './redis-link.ts';
import { isSentinelAddress } from './sentinel-address.ts';
import { SentinelLink } from './sentinel-link.ts';

/** Redis responds in well under a millisecond; one that takes a quarter of a second is treated as down. */
const commandTimeoutMs = 250;
const pingTimeoutMs = 1_000;
/** The health check writes this cache key, which expires. */
const checkKey = 'till:check';
const checkTtlMs = 60_000;

/** The cache that several processes share, on Redis or Valkey, perhaps found by sentinels. */
export class RedisCache implements Cache {
  readonly kind = 'redis';
  readonly #link: RedisLink;
  readonly #logger: Logger;
  readonly #commandTimeoutMs: number;
  #ready = Promise.withResolvers<void>();
  /** Reconnecting emits an error per attempt: only the first of an outage is logged. */
  #reported = false;

  /** Tests that do not test a slow Redis set another timeout, because the process of the test may be slow. */
  constructor(options: {
    readonly url: string;
    readonly logger: Logger;
    readonly commandTimeoutMs?: number;
  }) {
    this.#logger = options.logger;
    this.#commandTimeoutMs = options.commandTimeoutMs ?? commandTimeoutMs;
    const events = {
      onError: (error: unknown) => this.#report(error),
      onReady: () => {
        if (this.#reported) this.#logger.info('cache connection restored');
        this.#reported = false;
        this.#ready.resolve();
      },
    };
    const { url } = options;
    this.#link = isSentinelAddress(url) ? new SentinelLink(url, events) : openPlainLink(url, events);
  }

  /** Connects in the background. If Redis is down, the start is delayed by no more than the timeout. */
  async connect(): Promise<void> {
    const connected = this.#link.connect().then(
      () => undefined,
      (error: unknown) => this.#report(error),
    );
    await withDeadline(connected, connectTimeoutMs, 'connecting to the cache').catch((error) =>
      this.#report(error),
    );
  }

  /** Resolves once there is a connection again. */
  async reconnected(): Promise<void> {
    if (this.#link.isReady) return;
    this.#ready = Promise.withResolvers();
    await this.#ready.promise;
  }

  async increment(key: string, by: number, ttlMs: number): Promise<number> {
    const counted = this.#link.increment(key, by, ttlMs);
    const value = await withDeadline(counted, this.#commandTimeoutMs, 'the cache');
    if (typeof value !== 'number') throw new TypeError('the cache returned a counter that is not a number');
    return value;
  }

  async runScript(script: string, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    return withDeadline(this.#link.evaluate(script, keys, values), this.#commandTimeoutMs, 'the cache');
  }

  /** Writes a cache key: a full Redis or a replica would still respond to a plain ping. */
  async ping(): Promise<void> {
    await withDeadline(this.#link.write(checkKey, checkTtlMs), pingTimeoutMs, 'the cache check');
  }

  async close(): Promise<void> {
    await this.#link.destroy();
  }

  #report(error: unknown): void {
    if (this.#reported) return;
    this.#reported = true;
    this.#logger.warn({ err: error }, 'cache unavailable');
  }
}
