import { Agent, type IncomingHttpHeaders, request as openRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { requestTimeoutMs } from '../../src/http/load/limits.ts';

/** A request as it goes over the wire: nothing is normalised, added or checked on the way, save the framing of the body. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  /** In order, and a name may come twice. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer | null;
  readonly isChunked: boolean;
}

export interface WireAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export type Exchange = (request: WireRequest) => Promise<WireAnswer>;

/** Sends requests to a server over connections that are kept; an answer that misses its deadline is an error. */
export function exchangeWith(url: string): { readonly exchange: Exchange; readonly close: () => void } {
  const { hostname, port, host } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    close: () => agent.destroy(),
    exchange: ({ method, path, headers, body, isChunked }) => {
      const { promise, resolve, reject } = Promise.withResolvers<WireAnswer>();
      const framing = isChunked
        ? ['transfer-encoding', 'chunked']
        : ['content-length', String(body?.length ?? 0)];
      const isBare = body === null && !isChunked && ['GET', 'HEAD'].includes(method);
      const outgoing = openRequest({
        agent,
        host: hostname,
        port,
        method,
        path,
        headers: ['host', host, ...headers.flat(), ...(isBare ? [] : framing)],
        signal: AbortSignal.timeout(requestTimeoutMs),
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
