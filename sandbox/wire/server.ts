import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { browserFile } from '../browser/browser-files.ts';
import type { Api, ApiResponse, LogError } from './api.ts';
import { apiVersion } from './api-version.ts';

/** A response of the control API: JSON or an HTML page. */
export interface ControlResponse {
  readonly status: number;
  readonly body: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Control = (request: {
  method: string;
  path: string;
  query: string;
  body: string;
  authorization: string | undefined;
  host: string | undefined;
  origin: string | undefined;
  contentType: string | undefined;
}) => Promise<ControlResponse>;

/** The same limit as in Till. The largest valid request has some tens of kilobytes. */
const bodyBytesMax = 1_048_576;
/** Limits how long a slow client can hold a connection. */
const requestTimeoutMs = 30_000;
/** Longer than the idle timeout of the official client, so the client never writes to a closing socket. */
const keepAliveTimeoutMs = 75_000;

/** `linkUrl` is the base address of links to the sandbox, if it is not the one under which it is called. */
export function createWireServer(
  api: Api,
  control: Control,
  logError: LogError,
  linkUrl: string | undefined,
): Server {
  const server = createServer((request, response) => {
    serve(api, control, linkUrl, request, response).catch((error: unknown) => {
      // A client that disconnects while it sends its request is not an error of the sandbox.
      if (!request.destroyed) logError({ error, path: request.url }, 'unexpected error in the sandbox');
      response.destroy();
    });
  });
  server.on('clientError', rejectMalformed);
  server.requestTimeout = requestTimeoutMs;
  server.keepAliveTimeout = keepAliveTimeoutMs;
  return server;
}

async function serve(
  api: Api,
  control: Control,
  linkUrl: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const method = request.method ?? 'GET';
  const target = request.url ?? '/';
  const question = target.indexOf('?');
  const path = question < 0 ? target : target.slice(0, question);
  const query = question < 0 ? '' : target.slice(question + 1);
  const isControl = /^\/($|sandbox(\/|$)|worlds\/|c\/pay\/)/.test(path);
  if (method === 'OPTIONS' && !isControl) return send(response, 204, '', corsHeaders(request));

  const library = method === 'GET' ? browserFile(path, linkUrl ?? calledAddress(request)) : undefined;
  if (library !== undefined) return send(response, 200, library.body, library.headers);

  const body = await readBody(request);
  if (body === null)
    return send(response, 413, tooLarge, { 'content-type': 'application/json', connection: 'close' });

  const { authorization, host, origin, 'content-type': contentType } = request.headers;
  if (isControl) {
    const controlled = await control({ method, path, query, body, authorization, host, origin, contentType });
    const isPage = typeof controlled.body === 'string';
    return send(
      response,
      controlled.status,
      isPage ? String(controlled.body) : JSON.stringify(controlled.body),
      {
        'content-type': isPage ? 'text/html; charset=utf-8' : 'application/json',
        // Tells clients of the control API that they talk to a sandbox.
        'till-sandbox': 'true',
        ...controlled.headers,
      },
    );
  }

  const gone = new Promise<void>((resolve) => {
    response.once('close', resolve);
  });
  const result = await api.respond({
    method,
    path,
    query,
    body,
    authorization,
    idempotencyKey: textOf(request.headers['idempotency-key']),
    version: textOf(request.headers['stripe-version']),
    account: textOf(request.headers['stripe-account']),
    gone,
  });
  if (result === null) {
    response.destroy();
    return;
  }
  send(response, result.status, JSON.stringify(result.body), apiHeaders(request, result));
}

const tooLarge = JSON.stringify({
  error: {
    type: 'invalid_request_error',
    message: `The request body can have at most ${bodyBytesMax} bytes.`,
  },
});

/** Responds to requests that Node cannot parse, with an error in the wire format. */
function rejectMalformed(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return;
  const lines = [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(notHttp)}`,
    'connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${notHttp}`);
}

const notHttp = JSON.stringify({
  error: { type: 'invalid_request_error', message: 'Invalid request: malformed HTTP.' },
});

function apiHeaders(request: IncomingMessage, response: ApiResponse): Record<string, string> {
  const key = textOf(request.headers['idempotency-key']);
  return {
    'content-type': 'application/json',
    // Sandbox time, as in objects and events: clients take the time of a response from this header.
    date: new Date(response.at * 1_000).toUTCString(),
    'cache-control': 'no-cache, no-store',
    'request-id': response.requestId,
    'stripe-version': response.version ?? apiVersion,
    ...(key !== undefined && { 'idempotency-key': key }),
    ...(response.replayed && { 'idempotent-replayed': 'true' }),
    ...response.headers,
    ...corsHeaders(request),
  };
}

/** Any page can confirm a payment with a publishable API key. There are no cookies, so any origin is safe. */
function corsHeaders(request: IncomingMessage): Record<string, string> {
  if (request.headers.origin === undefined) return {};
  return {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, POST, HEAD, OPTIONS, DELETE',
    'access-control-allow-headers': textOf(request.headers['access-control-request-headers']) ?? '*',
    'access-control-expose-headers': 'Request-Id, Idempotent-Replayed',
    'access-control-max-age': '300',
  };
}

/** The address under which the caller reached the sandbox: on another machine, it is not the one it listens on. */
function calledAddress({ headers: { host = '' }, socket }: IncomingMessage): string {
  return /^[\w.-]+(:\d{1,5})?$|^\[[\da-f:.]+\](:\d{1,5})?$/i.test(host)
    ? `http://${host}`
    : `http://127.0.0.1:${socket.localPort}`;
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/** Returns null if the body is too large. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function send(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>>,
): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, { ...headers, 'content-length': String(bytes.length) });
  response.end(bytes);
}
