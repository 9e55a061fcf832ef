import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';

/** A request as it arrived, and its body read as a form. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly form: URLSearchParams;
}

/** What to do with a request; `count` is how many came before it. */
export type Script = (response: ServerResponse, seen: Seen, count: number) => void;

export interface ScriptedServer {
  readonly url: URL;
  readonly seen: readonly Seen[];
  readonly server: Server;
}

/** A server that does as it is told, for all that a well-behaved processor would never do. */
export async function startScriptedServer(t: TestContext, script: Script): Promise<ScriptedServer> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://scripted');
    const arrived: Seen = {
      method: request.method ?? '',
      path: pathname,
      query: searchParams,
      headers: request.headers,
      body,
      form: new URLSearchParams(body.toString()),
    };
    seen.push(arrived);
    script(response, arrived, seen.length - 1);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { url: new URL(`http://127.0.0.1:${address.port}`), seen, server };
}

export function respond(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
