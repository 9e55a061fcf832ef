import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Backend } from './backend.ts';

/** A request to the processor. */
export interface PassingRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly idempotencyKey: string | undefined;
}

/** A request that has arrived. */
export interface SeenRequest extends PassingRequest {
  readonly atMs: number;
}

export interface HeldRequest extends PassingRequest {
  /** Sends it on. */
  release(): void;
  /**
   * Sends it on, and holds back the response instead. Resolves when the response is there, with what passes it on.
   */
  holdResponse(): Promise<() => void>;
}

/** A successful response of the processor: what was asked for, and the JSON object that comes back. */
export interface PassingResponse {
  readonly method: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Returns what comes back instead. */
export type Alter = (response: PassingResponse) => unknown;

/** What the processor refuses, instead of carrying it out. */
export interface Refusing {
  readonly path: RegExp;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
  /** Whether reads are refused too. */
  readonly withReads?: true;
}

/** An HTTP proxy between Till and the processor. It sees every request, can hold it back, and can change it. */
export interface ProcessorProxy {
  readonly url: string;
  /** Every request so far, held back or not. */
  readonly seen: readonly SeenRequest[];
  /** Holds back every request of this method to this path from now on. */
  hold(path: string, method?: Method): void;
  /** Holds back the next request of this method to this path, and none after it. */
  holdOne(path: string, method?: Method): void;
  /** The next request that is held back, when there is one. */
  nextHeld(): Promise<HeldRequest>;
  /** Sends on all that is held back, and holds back nothing more. */
  releaseAll(): void;
  /** Changes successful responses from now on. */
  alterResponses(alter: Alter): void;
  passUnaltered(): void;
  /** Refuses these requests from now on. Undefined: none. */
  refuse(refusing: Refusing | undefined): void;
  /** From now on, responds to every change with the unchanged object, and does not carry it out. */
  ignoreChanges(): void;
}

type Method = 'POST' | 'GET' | 'DELETE';

export async function startProcessorProxy({
  processorUrl,
  atEnd,
}: Pick<Backend, 'processorUrl' | 'atEnd'>): Promise<ProcessorProxy> {
  const seen: SeenRequest[] = [];
  const holding = createHolding();
  let alter: Alter | undefined;
  let refusing: Refusing | undefined;
  let ignoresChanges = false;
  const server = http.createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const path = url.replace(/\?.*/, '');
    const key = headers['idempotency-key'];
    const passing = { method, path, idempotencyKey: typeof key === 'string' ? key : undefined };
    seen.push({ ...passing, atMs: performance.now() });
    const body = await request.toArray();
    const { sent, onResponse } = holding.holdIfTold(passing);
    await sent;
    if (refusing?.path.test(path) && (method !== 'GET' || refusing.withReads)) {
      response.writeHead(refusing.status, { 'content-type': 'application/json', ...refusing.headers });
      response.end(JSON.stringify(refusing.body));
      return;
    }
    const changed = ignoresChanges && method !== 'GET' ? /^\/v1\/\w+\/\w+/.exec(path)?.[0] : undefined;
    const forwarded =
      changed === undefined
        ? { url, method, headers, body: Buffer.concat(body) }
        : { url: changed, method: 'GET', headers: withoutBody(headers), body: Buffer.alloc(0) };
    try {
      const from = await forward(processorUrl, forwarded);
      const bytes = Buffer.concat(await from.toArray());
      await onResponse();
      const isAltered = alter !== undefined && from.statusCode === 200;
      const altered = isAltered
        ? JSON.stringify(alter?.({ method, path, body: JSON.parse(bytes.toString()) }))
        : bytes;
      response.writeHead(from.statusCode ?? 502, withoutBody(from.headers));
      response.end(altered);
    } catch {
      // When one side of an exchange breaks, so does the other.
      response.destroy();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  return {
    // A TCP server's address is an object. Only a pipe's address is a string.
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    hold: holding.hold,
    holdOne: holding.holdOne,
    nextHeld: holding.nextHeld,
    releaseAll: holding.releaseAll,
    alterResponses: (next) => {
      alter = next;
    },
    passUnaltered: () => {
      alter = undefined;
    },
    refuse: (next) => {
      refusing = next;
    },
    ignoreChanges: () => {
      ignoresChanges = true;
    },
  };
}

const passAtOnce = { sent: Promise.resolve(), onResponse: () => Promise.resolve() };

/** Which requests are held back, and who waits for them. */
function createHolding() {
  const held: HeldRequest[] = [];
  const waiting: ((request: HeldRequest) => void)[] = [];
  const releases = new Set<() => void>();
  const heldRoutes = new Set<string>();
  const heldOnce = new Set<string>();
  return {
    hold: (path: string, method: Method = 'POST') => void heldRoutes.add(`${method} ${path}`),
    holdOne: (path: string, method: Method = 'POST') => void heldOnce.add(`${method} ${path}`),
    nextHeld: async () => held.shift() ?? new Promise<HeldRequest>((resolve) => waiting.push(resolve)),
    releaseAll: () => {
      heldRoutes.clear();
      heldOnce.clear();
      for (const release of releases) release();
    },
    holdIfTold: (request: PassingRequest) => {
      const route = `${request.method} ${request.path}`;
      if (!heldOnce.delete(route) && !heldRoutes.has(route)) return passAtOnce;
      const sent = Promise.withResolvers<void>();
      const responded = Promise.withResolvers<void>();
      let passedOn = Promise.resolve();
      releases.add(sent.resolve);
      const item: HeldRequest = {
        ...request,
        release: sent.resolve,
        holdResponse: () => {
          const { promise, resolve } = Promise.withResolvers<void>();
          releases.add(resolve);
          passedOn = promise;
          sent.resolve();
          return responded.promise.then(() => resolve);
        },
      };
      const waiter = waiting.shift();
      if (waiter === undefined) held.push(item);
      else waiter(item);
      const onResponse = () => {
        responded.resolve();
        return passedOn;
      };
      return { sent: sent.promise, onResponse };
    },
  };
}

interface Forwarded {
  readonly url: string;
  readonly method: string;
  readonly headers: http.OutgoingHttpHeaders;
  readonly body: Buffer;
}

async function forward(processorUrl: string, { url, method, headers, body }: Forwarded) {
  const request = http.request(new URL(url, processorUrl), { method, headers, agent: false });
  request.end(body);
  // Node's documented signature of this event. `once` does not know the types of events.
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return response;
}

function withoutBody(headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders {
  const { 'content-length': _, 'transfer-encoding': __, ...kept } = headers;
  return kept;
}
