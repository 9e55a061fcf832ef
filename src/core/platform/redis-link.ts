import { createClient } from '@redis/client';

export const connectTimeoutMs = 2_000;
const reconnectDelayMs = 100;
/** Even after a long outage of Redis, its return is noticed within half a second, and /health shows it within two. */
const reconnectDelayMsMax = 500;

/** The connection to Redis, which is opened again whenever it is lost. Without it, commands fail at once. */
export interface RedisLink {
  readonly isReady: boolean;
  /** Attempts to connect until there is a connection. */
  connect(): Promise<unknown>;
  /** Adds to a counter that expires. */
  increment(key: string, by: number, ttlMs: number): Promise<unknown>;
  /** Runs a Lua script. */
  evaluate(script: string, keys: readonly string[], values: readonly string[]): Promise<unknown>;
  /** Writes a key that expires. */
  write(key: string, ttlMs: number): Promise<unknown>;
  destroy(): void | Promise<void>;
}

export interface LinkEvents {
  readonly onError: (error: unknown) => void;
  readonly onReady: () => void;
}

/** The delay before the next attempt to connect. */
export function delayAfter(attempts: number): number {
  return Math.min(reconnectDelayMs * 2 ** Math.min(attempts, 10), reconnectDelayMsMax);
}

export function openPlainLink(url: string, { onError, onReady }: LinkEvents): RedisLink {
  const client = createClient({
    url,
    // Without a connection, commands fail at once: a request never waits for Redis to return.
    disableOfflineQueue: true,
    socket: { connectTimeout: connectTimeoutMs, reconnectStrategy: delayAfter },
  });
  client.on('error', onError);
  client.on('ready', onReady);
  return {
    get isReady() {
      return client.isReady;
    },
    connect: () => client.connect(),
    increment: async (key, by, ttlMs) =>
      (await client.multi().incrBy(key, by).pExpire(key, ttlMs, 'NX').exec())[0],
    evaluate: (script, keys, values) => client.eval(script, { keys: [...keys], arguments: [...values] }),
    write: (key, ttlMs) => client.set(key, '', { expiration: { type: 'PX', value: ttlMs } }),
    destroy: () => client.destroy(),
  };
}
