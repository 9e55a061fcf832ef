import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

export interface Shot {
  readonly kind: 'webhook' | 'read';
  /** Differs for each request of its kind. */
  readonly id: string;
  /** The whole request as it is sent, built before the measurement starts. */
  readonly bytes: Buffer;
}

export interface Hit {
  readonly shot: Shot;
  /** 0 if the connection broke. */
  readonly status: number;
  readonly hasRetryAfter: boolean;
  readonly tookMs: number;
}

/**
 * Twice the number of requests in progress at which every request is shed. If all connections are in use, a request
 * waits for one.
 */
export const connectionsMax = 4_000;
const tickMs = 10;

/**
 * Sends requests at a fixed rate, whether or not earlier ones have got a response, as independent clients do. If no
 * connection is free, it opens another one. It uses plain sockets and bytes built in advance, so that it needs less CPU
 * time than the service that it measures.
 */
export class OpenLoop {
  readonly #port: number;
  readonly #free: Socket[] = [];
  readonly #open = new Set<Socket>();

  constructor(url: string) {
    this.#port = Number(new URL(url).port);
  }

  /**
   * Sends `perSecond` requests a second. Resolves when all have ended, with their results and the time at which the
   * last one was sent.
   */
  async fire(
    shots: readonly Shot[],
    perSecond: number,
  ): Promise<{ readonly hits: readonly Hit[]; readonly sentAtMs: number }> {
    const hits: Promise<Hit>[] = [];
    const startedAtMs = performance.now();
    while (hits.length < shots.length) {
      const due = Math.ceil(((performance.now() - startedAtMs) / 1_000) * perSecond);
      for (const shot of shots.slice(hits.length, due)) {
        if (this.#free.length === 0 && this.#open.size >= connectionsMax) break;
        hits.push(this.#send(shot, this.#take()));
      }
      await setTimeout(tickMs);
    }
    const sentAtMs = performance.now();
    return { hits: await Promise.all(hits), sentAtMs };
  }

  /** Sends the requests one after the other in each of `lanes` lanes. */
  fireInLanes(shots: readonly Shot[], lanes: number): Promise<readonly Hit[]> {
    return inLanes(shots, lanes, (shot) => this.#send(shot, this.#take()));
  }

  /**
   * Like `fireInLanes`, with a new connection for each request. The connections stay open, so that the overload does
   * not have to open them first. If a service is busy, the kernel may drop an attempt to connect, and repeats it after
   * one and three seconds. Such a request measures these repetitions, and not the service.
   */
  fireApart(shots: readonly Shot[], lanes: number): Promise<readonly Hit[]> {
    return inLanes(shots, lanes, (shot) => this.#send(shot, this.#connect()));
  }

  close(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #send(shot: Shot, socket: Socket): Promise<Hit> {
    const { promise, resolve } = Promise.withResolvers<Hit>();
    const sentAtMs = performance.now();
    let text = '';
    const end = (status: number) => {
      socket.off('data', onData);
      socket.off('close', onClose);
      const hasRetryAfter = /\r\nretry-after: \d/i.test(text);
      resolve({ shot, status, hasRetryAfter, tookMs: performance.now() - sentAtMs });
    };
    const onClose = () => end(0);
    const onData = (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (!isComplete(text)) return;
      end(Number(text.slice(9, 12)));
      this.#free.push(socket);
    };
    socket.on('data', onData);
    socket.once('close', onClose);
    socket.write(shot.bytes);
    return promise;
  }

  #take(): Socket {
    for (let socket = this.#free.pop(); socket !== undefined; socket = this.#free.pop())
      if (!socket.destroyed) return socket;
    return this.#connect();
  }

  #connect(): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    this.#open.add(socket);
    // `close` follows, and ends the request that waits for a response.
    socket.on('error', () => {});
    socket.once('close', () => this.#open.delete(socket));
    return socket;
  }
}

async function inLanes(shots: readonly Shot[], lanes: number, send: (shot: Shot) => Promise<Hit>) {
  const waiting = shots.values();
  const hits: Hit[] = [];
  const lane = async () => {
    // The iterator is shared, so that each shot is taken by one lane.
    for (const shot of waiting) hits.push(await send(shot));
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return hits;
}

/** Every response of the service has a `content-length`. */
function isComplete(text: string): boolean {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head))?.[1];
  return text.length >= head + 4 + Number(length ?? 0);
}
