import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Lab } from './fault-lab.ts';

/** A successful response of the processor: what was asked for, and the JSON object that comes back. */
export interface Passing {
  readonly method: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What comes back instead. */
export type Alter = (passing: Passing) => unknown;

/** Stands between a service and the processor and rewrites successful responses as it is told to. */
export interface AlteringLine {
  readonly url: string;
  readonly alter: (alter: Alter) => void;
  readonly stop: () => void;
}

const asItIs: Alter = ({ body }) => body;

export async function startAlteringLine(lab: Lab): Promise<AlteringLine> {
  let alter = asItIs;
  const server = http.createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const sent = http.request(new URL(url, lab.processorUrl), { method, headers, agent: false });
    sent.end(Buffer.concat(chunks));
    // Node's documented signature of this event; `once` does not know event types.
    const [answer] = (await once(sent, 'response')) as [http.IncomingMessage];
    const text = Buffer.concat(await answer.toArray()).toString();
    const path = url.replace(/\?.*/, '');
    const isSuccess = answer.statusCode === 200;
    const body = isSuccess ? JSON.stringify(alter({ method, path, body: JSON.parse(text) })) : text;
    const { 'content-length': _, 'transfer-encoding': __, ...kept } = answer.headers;
    response.writeHead(answer.statusCode ?? 502, kept);
    response.end(body);
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
    alter: (next) => {
      alter = next;
    },
    stop: () => {
      alter = asItIs;
    },
  };
}
