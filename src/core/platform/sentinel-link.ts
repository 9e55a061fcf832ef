import { createSentinel } from '@redis/client';
import { connectTimeoutMs, delayAfter, type LinkEvents, type RedisLink } from './redis-link.ts';
import { parseSentinelAddress, type SentinelAddress, sentinelForm } from './sentinel-address.ts';

/** The sentinels announce a new primary. This check covers a lost announcement. */
const scanDelayMs = 5_000;

type Sentinel = ReturnType<typeof open>;

/**
 * The connection to the primary that the sentinels know. When it breaks, it is closed for good, and another one is
 * opened: while the primary is gone, the library would ask the sentinels in a loop without a pause.
 */
export class SentinelLink implements RedisLink {
  readonly #address: SentinelAddress;
  readonly #events: LinkEvents;
  #sentinel: Sentinel | undefined;
  #attempts = 0;
  #timer: NodeJS.Timeout | undefined;
  #isDestroyed = false;

  constructor(url: string, events: LinkEvents) {
    this.#address = readAddress(url);
    this.#events = events;
  }

  get isReady(): boolean {
    return this.#sentinel?.isReady === true;
  }

  async connect(): Promise<void> {
    const sentinel = open(this.#address);
    this.#sentinel = sentinel;
    // These errors mean that there is no primary. The attempt to connect reports that.
    sentinel.on('error', () => {});
    sentinel.on('client-error', (event: { readonly type: string; readonly error: Error }) => {
      if (event.type === 'MASTER') this.#replace(sentinel, event.error);
    });
    try {
      await sentinel.connect();
    } catch (error) {
      return this.#replace(sentinel, error);
    }
    this.#attempts = 0;
    this.#events.onReady();
  }

  increment(key: string, by: number, ttlMs: number): Promise<unknown> {
    return this.#run(async (sentinel) => {
      const [value] = await sentinel.multi().incrBy(key, by).pExpire(key, ttlMs, 'NX').exec();
      return value;
    });
  }

  evaluate(script: string, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    return this.#run((sentinel) => sentinel.eval(script, { keys: [...keys], arguments: [...values] }));
  }

  write(key: string, ttlMs: number): Promise<unknown> {
    return this.#run((sentinel) => sentinel.set(key, '', { expiration: { type: 'PX', value: ttlMs } }));
  }

  async destroy(): Promise<void> {
    this.#isDestroyed = true;
    clearTimeout(this.#timer);
    await this.#sentinel?.destroy();
  }

  /** A primary that became a replica refuses the command, even before the sentinels announce another. */
  async #run<T>(command: (sentinel: Sentinel) => Promise<T>): Promise<T> {
    const sentinel = this.#sentinel;
    if (sentinel?.isReady !== true) throw new Error('there is no connection to Redis');
    try {
      return await command(sentinel);
    } catch (error) {
      this.#replace(sentinel, error);
      throw error;
    }
  }

  #replace(sentinel: Sentinel, error: unknown): void {
    if (this.#sentinel !== sentinel || this.#isDestroyed) return;
    this.#sentinel = undefined;
    this.#events.onError(error);
    sentinel.destroy().catch(() => {});
    this.#timer = setTimeout(() => void this.connect(), delayAfter(this.#attempts++));
  }
}

const limits = { connectTimeout: connectTimeoutMs, reconnectStrategy: false as const };

function open(address: SentinelAddress) {
  const { sentinels, name, sentinelPassword } = address;
  return createSentinel({
    name,
    sentinelRootNodes: [...sentinels],
    // Every failure is reported at once. `connect` tries again.
    maxCommandRediscovers: 0,
    scanInterval: scanDelayMs,
    sentinelClientOptions: {
      socket: { ...limits, ...tlsOf(address) },
      ...(sentinelPassword === undefined ? {} : { password: sentinelPassword }),
    },
    nodeClientOptions: {
      disableOfflineQueue: true,
      socket: { ...limits, ...tlsOf(address) },
      ...credentialsOf(address),
    },
  });
}

function credentialsOf({ database, username, password }: SentinelAddress) {
  return {
    database,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
  };
}

function tlsOf({ hasTls }: SentinelAddress) {
  return hasTls ? { tls: true as const } : {};
}

/** How to connect to the primary, according to the sentinels. */
export async function findPrimary(url: string) {
  const address = readAddress(url);
  const sentinel = open(address);
  sentinel.on('error', () => {});
  try {
    await sentinel.connect();
    return {
      socket: { ...sentinel.getMasterNode(), ...limits, ...tlsOf(address) },
      ...credentialsOf(address),
    };
  } finally {
    await sentinel.destroy();
  }
}

function readAddress(url: string): SentinelAddress {
  const address = parseSentinelAddress(url);
  if (address === undefined) throw new Error(`the address of Redis is malformed; allowed: ${sentinelForm}`);
  return address;
}
