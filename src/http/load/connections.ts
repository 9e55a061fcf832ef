import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { ConnectionLimits } from './limits.ts';

declare module 'fastify' {
  interface FastifyInstance {
    connections: Connections;
  }
}

/** How many connections are closed at a time, because each search examines all connections. */
const shareToClose = 1 / 100;

/** An open connection, and what is known about its caller. */
class Connection {
  readonly socket: Socket;
  /** Whether its caller has shown a valid API key, session or signature. */
  isKnown = false;
  /** When it was opened, or its last response was sent. */
  usedAtMs = performance.now();
  #responses = 0;
  /** Its latest response. Undefined before the first one. */
  #latest: ServerResponse | undefined;
  readonly #end = () => {
    this.#responses -= 1;
    this.usedAtMs = performance.now();
    if (this.#responses === 0) this.#latest = undefined;
  };

  constructor(socket: Socket) {
    this.socket = socket;
  }

  respond(response: ServerResponse): void {
    this.#responses += 1;
    this.#latest = response;
    response.once('close', this.#end);
  }

  /** Whether a request on it has arrived with its whole body, and has no response yet. */
  get isServing(): boolean {
    // The next request on a connection begins after the one before it is complete.
    return this.#responses > 1 || this.#latest?.req.complete === true;
  }
}

/** The open connections of a server. */
export class Connections {
  readonly #open = new Set<Connection>();
  readonly #ofSocket = new WeakMap<Socket, Connection>();
  readonly #max: number;

  constructor({ server }: FastifyInstance, max: number) {
    this.#max = max;
    server.on('connection', (socket) => this.#add(socket));
    server.on('request', (_request, response) => {
      if (response.socket !== null) this.#ofSocket.get(response.socket)?.respond(response);
    });
  }

  /** Records that the caller has shown a valid API key, session or signature. */
  know(socket: Socket): void {
    const connection = this.#ofSocket.get(socket);
    if (connection !== undefined) connection.isKnown = true;
  }

  /**
   * Closes connections on which nothing was ever sent: browsers and load balancers open them in advance. Node does not
   * count them as idle, and would wait for them when it closes the server.
   */
  closeSilent(): void {
    for (const { socket } of this.#open) if (socket.bytesRead === 0) socket.destroy();
  }

  /** Closes connections without a request that has arrived as a whole. */
  closeUnused(): void {
    for (const { socket, isServing } of this.#open) if (!isServing) socket.destroy();
  }

  #add(socket: Socket): void {
    const connection = new Connection(socket);
    this.#open.add(connection);
    this.#ofSocket.set(socket, connection);
    socket.once('close', () => this.#open.delete(connection));
    if (this.#open.size > this.#max) this.#makeRoom();
  }

  /**
   * Closes connections that serve no request: those of unknown callers first, and of these the one that was unused for
   * longest. A caller that opens thousands of connections displaces only its own.
   */
  #makeRoom(): void {
    const unused = [...this.#open]
      .filter(({ isServing }) => !isServing)
      .sort((a, b) => Number(a.isKnown) - Number(b.isKnown) || a.usedAtMs - b.usedAtMs);
    const count = Math.max(this.#open.size - this.#max, Math.floor(this.#max * shareToClose));
    for (const connection of unused.slice(0, count)) {
      this.#open.delete(connection);
      connection.socket.destroy();
    }
  }
}

/** Keeps the number of connections below its maximum, and closes those that would hold up a stop. */
export function registerConnections(
  app: FastifyInstance,
  { connectionsMax, incompleteMs }: Pick<ConnectionLimits, 'connectionsMax' | 'incompleteMs'>,
): Connections {
  const connections = new Connections(app, connectionsMax);
  app.decorate('connections', connections);
  app.addHook('preClose', async () => {
    connections.closeSilent();
    const timer = setTimeout(() => connections.closeUnused(), incompleteMs);
    app.server.once('close', () => clearTimeout(timer));
  });
  return connections;
}
