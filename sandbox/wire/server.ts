import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { apiVersion } from '../webhooks/render-event.ts';
import type { Api, ApiAnswer, LogError } from './api.ts';

/** A page or an answer of the sandbox's own, outside the wire API. */
export interface ControlAnswer {
  readonly status: number;
  readonly body: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Control = (request: {
  method: string;
  path: string;
  query: string;
  body: string;
}) => Promise<ControlAnswer>;

/** As much as Till itself takes; the largest sensible form has some tens of kilobytes. */
const bodyBytesMax = 1_048_576;
/** A client that trickles its request is cut off before it can hold a connection for long. */
const requestTimeoutMs = 30_000;
/** Longer than the idle time-out of the official client's agent, so that it never writes to a closing socket. */
const keepAliveTimeoutMs = 75_000;

export function createWireServer(api: Api, control: Control, logError: LogError): Server {
  const server = createServer((request, response) => {
    serve(api, control, request, response).catch((error: unknown) => {
      // A client that goes away while it is still sending is its own affair.
      if (!request.destroyed) logError({ error, path: request.url }, 'the sandbox failed');
      response.destroy();
    });
  });
  server.on('clientError', answerBroken);
  server.requestTimeout = requestTimeoutMs;
  server.keepAliveTimeout = keepAliveTimeoutMs;
  return server;
}

async function serve(
  api: Api,
  control: Control,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const method = request.method ?? 'GET';
  const target = request.url ?? '/';
  const question = target.indexOf('?');
  const path = question < 0 ? target : target.slice(0, question);
  const query = question < 0 ? '' : target.slice(question + 1);
  if (method === 'OPTIONS') return send(response, 204, '', corsHeaders(request));

  const body = await readBody(request);
  if (body === null)
    return send(response, 413, tooLarge, { 'content-type': 'application/json', connection: 'close' });

  if (path === '/sandbox' || path.startsWith('/sandbox/')) {
    const answer = await control({ method, path, query, body });
    const isPage = typeof answer.body === 'string';
    return send(response, answer.status, isPage ? String(answer.body) : JSON.stringify(answer.body), {
      'content-type': isPage ? 'text/html; charset=utf-8' : 'application/json',
      ...answer.headers,
    });
  }

  const { promise: gone, resolve } = Promise.withResolvers<void>();
  response.once('close', resolve);
  const answer = await api.answer({
    method,
    path,
    query,
    body,
    authorization: request.headers.authorization,
    idempotencyKey: textOf(request.headers['idempotency-key']),
    gone,
  });
  if (answer === null) {
    response.destroy();
    return;
  }
  send(response, answer.status, JSON.stringify(answer.body), apiHeaders(request, answer));
}

const tooLarge = JSON.stringify({
  error: {
    type: 'invalid_request_error',
    message: `The request body may have at most ${bodyBytesMax} bytes.`,
  },
});

/** What Node refuses before there is a request gets an error of the wire's own shape as well. */
function answerBroken(error: Error & { readonly code?: string }, socket: Duplex): void {
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
  error: { type: 'invalid_request_error', message: 'Invalid request: this is not valid HTTP.' },
});

function apiHeaders(request: IncomingMessage, answer: ApiAnswer): Record<string, string> {
  const version = textOf(request.headers['stripe-version']);
  const key = textOf(request.headers['idempotency-key']);
  return {
    'content-type': 'application/json',
    // Sandbox time, as objects and events carry it: clients date an answer by this header.
    date: new Date(answer.at * 1_000).toUTCString(),
    'cache-control': 'no-cache, no-store',
    'request-id': answer.requestId,
    'stripe-version': version ?? apiVersion,
    ...(key === undefined ? {} : { 'idempotency-key': key }),
    ...(answer.replayed ? { 'idempotent-replayed': 'true' } : {}),
    ...corsHeaders(request),
  };
}

/** Any page may confirm a payment with a publishable key; no cookie is involved, so no origin is special. */
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

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/** null when there is more of it than is allowed. */
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

function send(response: ServerResponse, status: number, body: string, headers: Record<string, string>): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, { ...headers, 'content-length': String(bytes.length) });
  response.end(bytes);
}
