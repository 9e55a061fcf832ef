import { once } from 'node:events';
import { createClient } from '@redis/client';
import type { Cache } from './cache.ts';
import { withDeadline } from './deadline.ts';
import type { Logger } from './logger.ts';

/** Redis responds in well under a millisecond; one that takes a quarter of a second is treated as down. */
const commandTimeoutMs = 250;
const pingTimeoutMs = 1_000;
const connectTimeoutMs = 2_000;
const reconnectDelayMs = 100;
/** However long Redis was down, its return is noticed within half a second, and /health shows it within two. */
const reconnectDelayMsMax = 500;
/** The health check writes this cache key, which expires. */
const checkKey = 'till:check';
const checkTtlMs = 60_000;

/** The cache that several processes share, on Redis or Valkey. */
export class RedisCache implements Cache {
  readonly kind = 'redis';
  readonly #client;
  readonly #logger: Logger;
  readonly #commandTimeoutMs: number;
  /** Reconnecting emits an error per attempt: only the first of an outage is logged. */
  #reported = false;

  /** A test that is not about a slow Redis sets another timeout, because its own process may be slow. */
  constructor(options: {
    readonly url: string;
    readonly logger: Logger;
    readonly commandTimeoutMs?: number;
  }) {
    this.#logger = options.logger;
    this.#commandTimeoutMs = options.commandTimeoutMs ?? commandTimeoutMs;
    this.#client = createClient({
      url: options.url,
      // Without a connection, commands fail at once: a request never waits for Redis to return.
      disableOfflineQueue: true,
      socket: {
        connectTimeout: connectTimeoutMs,
        reconnectStrategy: (attempts) =>
          Math.min(reconnectDelayMs * 2 ** Math.min(attempts, 10), reconnectDelayMsMax),
      },
    });
    this.#client.on('error', (error) => this.#report(error));
    this.#client.on('ready', () => {
      if (this.#reported) this.#logger.info('cache connection restored');
      this.#reported = false;
    });
  }

  /** Connects in the background. If Redis is down, the start is delayed by no more than the timeout. */
  async connect(): Promise<void> {
    const connected = this.#client.connect().then(
      () => undefined,
      (error: unknown) => this.#report(error),
    );
    await withDeadline(connected, connectTimeoutMs, 'connecting to the cache').catch((error) =>
      this.#report(error),
    );
  }

  /** Resolves once there is a connection again. */
  async reconnected(): Promise<void> {
    if (!this.#client.isReady) await once(this.#client, 'ready');
  }

  async increment(key: string, by: number, ttlMs: number): Promise<number> {
    const replies = this.#client.multi().incrBy(key, by).pExpire(key, ttlMs, 'NX').exec();
    const [value] = await withDeadline(replies, this.#commandTimeoutMs, 'the cache');
    if (typeof value !== 'number') throw new TypeError('the cache returned a counter that is not a number');
    return value;
  }

  /** Writes a cache key: a full Redis or a replica would still respond to a plain ping. */
  async ping(): Promise<void> {
    const written = this.#client.set(checkKey, '', { expiration: { type: 'PX', value: checkTtlMs } });
    await withDeadline(written, pingTimeoutMs, 'the cache check');
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }

  #report(error: unknown): void {
    if (this.#reported) return;
    this.#reported = true;
    this.#logger.warn({ err: error }, 'cache unavailable');
  }
}
