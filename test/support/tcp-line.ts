import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

/** Where connections lead: a port on this machine, or a socket file. */
export type Target = number | string;

export interface LineOptions {
  /**
   * Called for each connection, with its socket to the server. What it returns sees each piece that the client sends,
   * and may change its bytes.
   */
  readonly onSent?: (server: Socket) => (chunk: Buffer) => void;
  /** Whether a connection counts for the peak, by the first piece that its client sends. All count if it is absent. */
  readonly counts?: (head: Buffer) => boolean;
  /** What each piece of a response waits for before it arrives; undefined if it arrives at once. */
  readonly beforeResponse?: () => Promise<unknown> | undefined;
}

/**
 * A TCP proxy between a client and a server, for faults of the network: it can be cut, slowed down, or lead to another
 * server. When one side of a connection ends or breaks, so does the other.
 */
export class TcpLine {
  readonly #options: LineOptions;
  readonly #server: Server;
  readonly #clients = new Set<Socket>();
  readonly #sockets = new Set<Socket>();
  #target: () => Target | undefined;
  #delayMs = 0;
  #isCut = false;
  #refused = 0;
  #clientsPeak = 0;
  #fixedResponse: string | undefined;

  private constructor(target: () => Target | undefined, options: LineOptions) {
    this.#target = target;
    this.#options = options;
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => this.#accept(client));
  }

  /** A target that is a function chooses for each connection. Where it finds none, the connection is refused. */
  static async open(
    target: Target | (() => Target | undefined),
    options: LineOptions = {},
  ): Promise<TcpLine> {
    const line = new TcpLine(typeof target === 'function' ? target : () => target, options);
    await line.#listen(0);
    return line;
  }

  get port(): number {
    // A TCP server's address is an object. Only a pipe's address is a string.
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** How many connections were refused. */
  get refused(): number {
    return this.#refused;
  }

  /** The most connections at a time on which something was sent. */
  get connectionsPeak(): number {
    return this.#clientsPeak;
  }

  /** Breaks all connections, and refuses new ones. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  repair(): void {
    this.#isCut = false;
  }

  /** Delays everything that is sent from now on, in both directions. */
  slowDown(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Leads new connections to another server. Open ones stay as they are. */
  leadTo(target: Target): void {
    this.#target = () => target;
  }

  /** Breaks all connections. Responds to every new request with this text, or passes requests on again. */
  respondWith(text: string | undefined): void {
    this.#fixedResponse = text;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Closes the port, as when no process listens on it. Returns what opens it again. */
  async closePort(): Promise<() => Promise<void>> {
    const { port } = this;
    await this.close();
    return () => this.#listen(port);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  #accept(client: Socket): void {
    const target = this.#isCut ? undefined : this.#target();
    if (target === undefined) {
      this.#refused += 1;
      client.destroy();
      return;
    }
    client.once('close', () => this.#clients.delete(client));
    client.once('data', (head) => this.#count(client, head));
    if (this.#fixedResponse !== undefined) {
      const text = this.#fixedResponse;
      this.#keep(client);
      client.on('error', () => {});
      client.on('end', () => client.end());
      client.on('data', () => client.write(text));
      return;
    }
    const to = typeof target === 'string' ? { path: target } : { port: target, host: '127.0.0.1' };
    const server = connect({ ...to, noDelay: true, allowHalfOpen: true });
    const { onSent, beforeResponse } = this.#options;
    if (onSent !== undefined) client.on('data', onSent(server));
    // A socket file cannot be reset, and a process that has reset the other end of such a pair may never exit.
    const canReset = typeof target === 'number';
    this.#pass(client, server, canReset, () => undefined);
    this.#pass(server, client, canReset, beforeResponse ?? (() => undefined));
  }

  #count(client: Socket, head: Buffer): void {
    if (this.#options.counts?.(head) === false) return;
    this.#clients.add(client);
    this.#clientsPeak = Math.max(this.#clientsPeak, this.#clients.size);
  }

  /** Passes on what one side sends, late if it must be, and in order. */
  #pass(from: Socket, to: Socket, canReset: boolean, before: () => Promise<unknown> | undefined): void {
    this.#keep(from);
    let passed = Promise.resolve();
    from.on('data', (chunk) => {
      const dueMs = performance.now() + this.#delayMs;
      passed = passed.then(async () => {
        await before();
        const waitMs = dueMs - performance.now();
        if (waitMs > 0) await setTimeout(waitMs);
        if (!to.destroyed) to.write(chunk);
      });
    });
    from.on('end', () => {
      passed = passed.then(() => {
        to.end();
      });
    });
    from.on('error', () => (canReset && !to.destroyed ? to.resetAndDestroy() : to.destroy()));
    from.on('close', (hadError) => {
      // After an orderly end, the other side may still have something to send.
      if (hadError || !from.readableEnded) to.destroy();
    });
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

/** A line to a test database, and the address of the database through it. */
export async function lineToDatabase(
  url: string,
  options?: LineOptions,
): Promise<{ readonly line: TcpLine; readonly url: string }> {
  // The test server listens on a socket file only. Its address names the folder as the host.
  const parts = /^(postgresql:\/\/[^@]+)@\/([^?]+)\?host=(.+)$/.exec(url);
  if (parts === null) throw new Error('the address of the test database has an unexpected form');
  const [, credentials, name, host = ''] = parts;
  const line = await TcpLine.open(`${decodeURIComponent(host)}/.s.PGSQL.5432`, options);
  return { line, url: `${credentials}@127.0.0.1:${line.port}/${name}` };
}
