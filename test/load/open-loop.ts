import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

export interface Shot {
  readonly kind: 'webhook' | 'read';
  /** What tells this one from all others of its kind. */
  readonly id: string;
  /** The whole request as it goes over the wire, made before the clock runs. */
  readonly bytes: Buffer;
}

export interface Hit {
  readonly shot: Shot;
  /** 0 where the connection broke. */
  readonly status: number;
  readonly hasRetryAfter: boolean;
  readonly tookMs: number;
}

/** Twice the requests under way from which everything is shed. Whoever comes while all are taken waits for one. */
const connectionsMax = 4_000;
const tickMs = 10;

/**
 * Sends requests at a rate of its own, whatever becomes of them, as a crowd does: who finds no free connection opens another.
 * Plain sockets and prepared bytes, because whoever measures must have less to do than who is measured.
 */
export class OpenLoop {
  readonly #port: number;
  readonly #free: Socket[] = [];
  readonly #open = new Set<Socket>();

  constructor(url: string) {
    this.#port = Number(new URL(url).port);
  }

  /** So many a second, whatever becomes of them. All answers, once the last one is there, and when the last was sent. */
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

  /** One after the other, in so many lanes. */
  fireInLanes(shots: readonly Shot[], lanes: number): Promise<readonly Hit[]> {
    return inLanes(shots, lanes, (shot) => this.#send(shot, this.#take()));
  }

  /** The same, each on a connection of its own, which stays open: a crowd comes with connections, it does not wait for them. */
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
    // Whoever waits for an answer hears of the end.
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

/** The service's own answers all say how long they are. */
function isComplete(text: string): boolean {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head))?.[1];
  return text.length >= head + 4 + Number(length ?? 0);
}
