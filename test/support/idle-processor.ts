import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface IdleProcessor {
  readonly url: string;
  /** From now on every change of an object is answered as if it had been done, and is not done. */
  readonly stopWorking: () => void;
  readonly close: () => Promise<void>;
}

/** Stands between Till and a processor, and can answer a write about an object with the object as it is. */
export async function startIdleProcessor(processorUrl: string): Promise<IdleProcessor> {
  let works = true;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const path = request.url ?? '/';
    const object = /^\/v1\/\w+\/\w+/.exec(path)?.[0];
    const idle = !works && object !== undefined && request.method !== 'GET';
    const answer = await fetch(`${processorUrl}${idle ? object : path}`, {
      method: idle ? 'GET' : (request.method ?? 'GET'),
      headers: forwarded(request.headers),
      ...(idle || chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    });
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(await answer.text());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A TCP server's address is an object; only a pipe's is a text.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stopWorking: () => {
      works = false;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** What the processor's API looks at. */
function forwarded(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  const names = ['authorization', 'content-type', 'idempotency-key', 'stripe-version'];
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}
