import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

/** A line of TCP to a server's socket, which can be cut, slowed down, or led to another server. */
export class Line {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: string;
  #delayMs = 0;
  #isCut = false;
  #refused = 0;
  #misheard: { readonly said: string; readonly heard: string } | undefined;

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((client) => this.#join(client));
  }

  static async open(socketPath: string): Promise<Line> {
    const line = new Line(socketPath);
    line.#server.listen(0, '127.0.0.1');
    await once(line.#server, 'listening');
    return line;
  }

  get port(): number {
    // A TCP server's address is an object; only a pipe's is a text.
    return (this.#server.address() as AddressInfo).port;
  }

  /** How many connections were asked for while it was cut. */
  get refused(): number {
    return this.#refused;
  }

  /** From now on nobody gets through, and who was connected is cut off. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  /** Whatever is said from now on, in either direction, arrives so much later. */
  slowDown(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Where a client says the one from now on, the server hears the other, which is as long. */
  mishear(said: string, heard: string): void {
    this.#misheard = { said, heard };
  }

  /** New connections lead elsewhere; those that are open stay as they are. */
  leadTo(socketPath: string): void {
    this.#target = socketPath;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #join(client: Socket): void {
    if (this.#isCut) {
      this.#refused += 1;
      client.destroy();
      return;
    }
    const upstream = connect(this.#target);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(from);
      if (from === client) from.on('data', (chunk) => this.#garble(chunk));
      from.on('data', this.#passerTo(to));
      // Whichever end breaks, the other goes with it.
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }

  #garble(chunk: Buffer): void {
    if (this.#misheard === undefined) return;
    const at = chunk.indexOf(this.#misheard.said);
    if (at >= 0) chunk.write(this.#misheard.heard, at);
  }

  /** Passes on what is said, late and in order. */
  #passerTo(to: Socket): (chunk: Buffer) => void {
    let passed = Promise.resolve();
    return (chunk) => {
      const dueMs = performance.now() + this.#delayMs;
      passed = passed.then(async () => {
        const waitMs = dueMs - performance.now();
        if (waitMs > 0) await setTimeout(waitMs);
        if (!to.destroyed) to.write(chunk);
      });
    };
  }
}
