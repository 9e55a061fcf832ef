import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { apiKey } from './requests.ts';

/** Every event of the benchmarks contains this byte once, so that counting it counts events. */
export const eventMark = '~';
const markByte = eventMark.charCodeAt(0);

/** A stream of events on a plain socket that only counts them. A full client would take more CPU time. */
export class EventStream {
  readonly #socket: Socket;
  #count = 0;
  #awaited = Number.POSITIVE_INFINITY;
  #resolve: (() => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', () => {});
  }

  static async open(url: string, after: string): Promise<EventStream> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    const headers = `host: bench\r\nx-api-key: ${apiKey}\r\naccept: text/event-stream`;
    socket.write(`GET /api/v1/events?after=${after} HTTP/1.1\r\n${headers}\r\n\r\n`);
    const stream = new EventStream(socket);
    await once(socket, 'data');
    return stream;
  }

  get count(): number {
    return this.#count;
  }

  /** Resolves when this many events have arrived since the stream was opened. */
  async has(count: number): Promise<void> {
    if (this.#count >= count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited = count;
    this.#resolve = resolve;
    await promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    for (let at = chunk.indexOf(markByte); at >= 0; at = chunk.indexOf(markByte, at + 1)) this.#count += 1;
    if (this.#count >= this.#awaited) this.#resolve?.();
  }
}
