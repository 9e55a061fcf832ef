import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface HttpResponse {
  readonly status: number;
  readonly body: string;
}

/**
 * A keep-alive connection with one request in flight, on a plain socket. Requests are bytes that were built in advance,
 * and only the needed part of a response is parsed. A full HTTP client would take more CPU time than the service that
 * it measures.
 */
export class Connection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #waiting: { resolve: (response: HttpResponse) => void; reject: (error: Error) => void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
  }

  static async open(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    return new Connection(socket);
  }

  send(request: Buffer): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const head = this.#received.toString('latin1', 0, headEnd).toLowerCase();
    const bodyStart = headEnd + 4;
    const lengthAt = head.indexOf('content-length: ');
    if (lengthAt < 0) {
      this.#fail(new Error(`a response without a length: ${head}`));
      return;
    }
    const bodyEnd = bodyStart + Number.parseInt(head.slice(lengthAt + 16, lengthAt + 28), 10);
    if (this.#received.length < bodyEnd) return;
    const response = {
      status: Number(head.slice(9, 12)),
      body: this.#received.toString('utf8', bodyStart, bodyEnd),
    };
    this.#received = this.#received.subarray(bodyEnd);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(response);
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}
