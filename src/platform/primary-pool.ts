import pg from 'pg';
import type { DatabaseServer } from './database-address.ts';
import type { DatabaseServers } from './primary-connection.ts';
import { isUnavailable } from './unavailable.ts';

/** Connections are replaced at most this often. While there is no primary, every failed write would replace all. */
const replaceDelayMs = 1_000;

type Connected = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  release: (error?: unknown) => void,
) => void;

/** The options that the pool passes on to its connections, and that it needs itself. */
type Options = Omit<pg.PoolConfig, 'connectionString'> & { readonly connectionTimeoutMillis: number };

/**
 * A pool of connections to the suitable server of an address: the primary, or a standby for a replica. A connection attempt that failed is repeated
 * where another one can succeed: nothing has been sent yet.
 */
export class PrimaryPool extends pg.Pool {
  readonly #servers: DatabaseServers;
  readonly #waitMsMax: number;
  readonly #openedAtMs = new WeakMap<pg.PoolClient, number>();
  /** Connections that were opened before are not used again. */
  #replacedAtMs = Number.NEGATIVE_INFINITY;
  #brokenAtMs = Number.NEGATIVE_INFINITY;
  /** When a connection was last opened or known to work. */
  #connectedAtMs = Number.NEGATIVE_INFINITY;

  constructor(servers: DatabaseServers, { onConnect, ...options }: Options) {
    super({
      ...options,
      Client: clientOf(servers, options),
      onConnect: (client) => prepare(client, servers, onConnect),
    });
    this.#servers = servers;
    this.#waitMsMax = options.connectionTimeoutMillis;
    this.on('connect', (client) => {
      this.noteWorking();
      this.#openedAtMs.set(client, this.#connectedAtMs);
      client.on('error', () => {
        this.#brokenAtMs = performance.now();
      });
    });
  }

  /** Whether a connection broke or could not be opened, and nothing has worked since. */
  get isBroken(): boolean {
    return Math.max(this.#brokenAtMs, this.#servers.rejectedAtMs) > this.#connectedAtMs;
  }

  /** A statement succeeded: connections that broke before say nothing about the server. */
  noteWorking(): void {
    this.#connectedAtMs = performance.now();
  }

  /** Uses none of the current connections again: one of them leads to a server that no longer takes writes. */
  replaceAll(): void {
    const nowMs = performance.now();
    if (nowMs - this.#replacedAtMs >= replaceDelayMs) this.#replacedAtMs = nowMs;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.PoolClient> | undefined {
    if (callback !== undefined) {
      this.#attempt(callback, performance.now(), 1);
      return undefined;
    }
    return new Promise((resolve, reject) => {
      this.connect((error, client) => (client === undefined ? reject(error) : resolve(client)));
    });
  }

  #attempt(callback: Connected, beganAtMs: number, attempts: number): void {
    const atMs = performance.now();
    super.connect((error, client, release) => {
      const goesOn = performance.now() - beganAtMs < this.#waitMsMax;
      if (client !== undefined && this.#isReplaced(client)) {
        release(true);
        return this.#attempt(callback, beganAtMs, attempts);
      }
      if (error !== undefined && isUnavailable(error)) {
        // A connection that worked since then shows that the primary can be reached by now.
        const isOver = this.#connectedAtMs > atMs;
        if (goesOn && (isOver || attempts < this.#servers.count))
          return this.#attempt(callback, beganAtMs, attempts + 1);
      }
      callback(error, client, release);
    });
  }

  #isReplaced(client: pg.PoolClient): boolean {
    return (this.#openedAtMs.get(client) ?? 0) < this.#replacedAtMs;
  }
}

type ClientConnected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** Connections that know their server. */
interface ServerClient extends pg.Client {
  readonly server: DatabaseServer;
}

/** A connection is to the server that was the first when it was created. */
function clientOf(servers: DatabaseServers, options: pg.ClientConfig): new () => ServerClient {
  return class extends pg.Client {
    readonly server: DatabaseServer;

    constructor() {
      const server = servers.first;
      super({ ...options, connectionString: server.url, connectionTimeoutMillis: servers.timeoutMs });
      this.server = server;
      // The pool handles errors only of idle connections, and an unhandled error event would end the process. The next
      // statement on a connection reports that it broke while in use or just after connecting.
      this.on('error', () => {});
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: ClientConnected): void;
    override connect(callback?: ClientConnected): Promise<pg.Client> | undefined {
      const connected = super.connect().catch((error: unknown) => {
        servers.reject(this.server);
        throw error;
      });
      if (callback === undefined) return connected;
      // The types have two functions, one for each outcome.
      const settle = callback as (error: Error | null, client?: pg.Client) => void;
      void connected.then((client) => settle(null, client), settle);
      return undefined;
    }
  };
}

async function prepare(
  client: pg.ClientBase,
  servers: DatabaseServers,
  onConnect: pg.PoolConfig['onConnect'],
): Promise<void> {
  // Every connection of the pool is one of these.
  const { server } = client as ServerClient;
  try {
    await servers.verify(client, server);
  } catch (error) {
    servers.reject(server);
    throw error;
  }
  await onConnect?.(client);
}
