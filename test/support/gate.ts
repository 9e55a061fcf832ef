import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { Lab } from './fault-lab.ts';

export interface PassingRequest {
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | undefined;
}

export interface HeldRequest extends PassingRequest {
  /** Sends it on. */
  readonly release: () => void;
  /** Sends it on, and holds back the processor's answer instead; resolves when it is there. */
  readonly holdAnswer: () => Promise<void>;
}

/** Stands between a service and the processor, sees every request, and holds back those it is told to. */
export interface Gate {
  readonly url: string;
  /** Every request so far, held or not. */
  readonly seen: readonly PassingRequest[];
  /** Holds back every request of this method to this path from now on; `open` ends it. */
  readonly hold: (path: string, method?: 'POST' | 'GET') => void;
  /** The next request that is held back, once there is one. */
  readonly nextHeld: () => Promise<HeldRequest>;
  /** Sends on what is held back, and holds nothing any more. */
  readonly open: () => void;
}

export async function startGate(lab: Lab): Promise<Gate> {
  const seen: PassingRequest[] = [];
  const held: HeldRequest[] = [];
  const waiting: ((request: HeldRequest) => void)[] = [];
  const releases = new Set<() => void>();
  const heldRoutes = new Set<string>();

  const holdBack = (request: PassingRequest) => {
    const sent = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    let passedOn = Promise.resolve();
    releases.add(sent.resolve);
    const item: HeldRequest = {
      ...request,
      release: sent.resolve,
      holdAnswer: () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        releases.add(resolve);
        passedOn = promise;
        sent.resolve();
        return answered.promise;
      },
    };
    const waiter = waiting.shift();
    if (waiter === undefined) held.push(item);
    else waiter(item);
    const onAnswer = () => {
      answered.resolve();
      return passedOn;
    };
    return { sent: sent.promise, onAnswer };
  };

  const server = http.createServer(async (request, response) => {
    const { method = '', url = '' } = request;
    const path = url.replace(/\?.*/, '');
    const key = request.headers['idempotency-key'];
    const passing = { method, path, idempotencyKey: typeof key === 'string' ? key : undefined };
    seen.push(passing);
    const isHeld = heldRoutes.has(`${method} ${path}`);
    const { sent, onAnswer } = isHeld ? holdBack(passing) : straight;
    await sent;
    await forward(request, response, new URL(url, lab.processorUrl), onAnswer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  lab.atEnd(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    hold: (path, method = 'POST') => {
      heldRoutes.add(`${method} ${path}`);
    },
    nextHeld: async () => {
      const first = held.shift();
      if (first !== undefined) return first;
      const { promise, resolve } = Promise.withResolvers<HeldRequest>();
      waiting.push(resolve);
      return promise;
    },
    open: () => {
      heldRoutes.clear();
      for (const release of releases) release();
    },
  };
}

const straight = { sent: Promise.resolve(), onAnswer: () => Promise.resolve() };

/** An exchange that breaks on one side is broken on the other. */
async function forward(
  from: http.IncomingMessage,
  to: http.ServerResponse,
  url: URL,
  onAnswer: () => Promise<void>,
): Promise<void> {
  try {
    const request = http.request(url, { method: from.method, headers: from.headers, agent: false });
    const answered = once(request, 'response');
    await Promise.all([pipeline(from, request), answered]);
    // Node's documented signature of this event; `once` does not know event types.
    const [response] = (await answered) as [http.IncomingMessage];
    await onAnswer();
    to.writeHead(response.statusCode ?? 502, response.headers);
    await pipeline(response, to);
  } catch {
    to.destroy();
  }
}
