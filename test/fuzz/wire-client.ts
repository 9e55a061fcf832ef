import { Agent, type IncomingHttpHeaders, request as openRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { connectionLimits } from '../../src/http/load/limits.ts';

/** A request as it goes over the wire. The client adds the host and the framing of the body, and checks nothing. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  /** In order, and a name may come twice. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer | null;
  readonly isChunked: boolean;
}

export interface WireResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export type SendOverWire = (request: WireRequest) => Promise<WireResponse>;

/** Sends requests to a server, over one connection by default. A response that misses its deadline is an error. */
export function createWireClient(
  url: string,
  connections = 1,
): { readonly send: SendOverWire; readonly close: () => void } {
  const { hostname, port, host } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  return {
    close: () => agent.destroy(),
    send: ({ method, path, headers, body, isChunked }) => {
      const { promise, resolve, reject } = Promise.withResolvers<WireResponse>();
      const framing = isChunked
        ? ['transfer-encoding', 'chunked']
        : ['content-length', String(body?.length ?? 0)];
      // Such a request promises more than it sends.
      const isFramed = headers.some(([name]) => name === 'content-length');
      const isBare = body === null && !isChunked && ['GET', 'HEAD'].includes(method);
      const outgoing = openRequest({
        agent,
        host: hostname,
        port,
        method,
        path,
        headers: ['host', host, ...headers.flat(), ...(isBare || isFramed ? [] : framing)],
        signal: AbortSignal.timeout(connectionLimits.requestTimeoutMs),
      });
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        const { statusCode: status = 0, headers: answered } = incoming;
        text(incoming).then((content) => resolve({ status, headers: answered, text: content }), reject);
      });
      outgoing.end(body ?? undefined);
      return promise;
    },
  };
}
