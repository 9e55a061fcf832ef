import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Lab } from './fault-lab.ts';

export interface StatementCounter {
  /** The lab's database, reached through the counter. */
  readonly databaseUrl: string;
  /** How many statements have been sent so far. */
  readonly count: () => number;
  /** Resolves once this many more statements that contain the text have been sent. */
  readonly sent: (text: string, times: number) => Promise<void>;
}

/** Every message of the protocol but the first of a connection: a letter, and the length of the rest. */
const headerBytes = 5;
/** A statement without parameters, and the execution of one that has them. */
const statementTypes = new Set(['Q', 'E']);

/** Stands on the wire between a service and the lab's database, and counts the statements that pass. */
export async function countStatements(lab: Lab): Promise<StatementCounter> {
  const parts = /^(postgresql:\/\/[^@]+)@\/([^?]+)\?host=(.+)$/.exec(lab.databaseUrl);
  if (parts === null) throw new Error('the test database has another kind of address than expected');
  const [, credentials, name, host = ''] = parts;
  const socketPath = `${decodeURIComponent(host)}/.s.PGSQL.5432`;
  let count = 0;
  const waiting = new Set<{ readonly text: string; left: number; readonly resolve: () => void }>();
  const onMessage = (type: string, body: Buffer) => {
    if (statementTypes.has(type)) count += 1;
    for (const waiter of waiting) {
      if (!body.includes(waiter.text)) continue;
      waiter.left -= 1;
      if (waiter.left > 0) continue;
      waiting.delete(waiter);
      waiter.resolve();
    }
  };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(socketPath);
    client.on('data', messageReader(onMessage));
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  lab.atEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  // A TCP server's address is an object; only a pipe's is a text.
  const { port } = server.address() as AddressInfo;
  return {
    databaseUrl: `${credentials}@127.0.0.1:${port}/${name}`,
    count: () => count,
    sent: (text, times) => new Promise((resolve) => waiting.add({ text, left: times, resolve })),
  };
}

/** Cuts what a client sends into its messages; the first has no letter. */
function messageReader(onMessage: (type: string, body: Buffer) => void): (chunk: Buffer) => void {
  let received = Buffer.alloc(0);
  let isFirst = true;
  return (chunk) => {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const typeBytes = isFirst ? 0 : 1;
      if (received.length < headerBytes) return;
      const end = typeBytes + received.readUInt32BE(typeBytes);
      if (received.length < end) return;
      if (!isFirst) onMessage(received.toString('latin1', 0, 1), received.subarray(headerBytes, end));
      isFirst = false;
      received = received.subarray(end);
    }
  };
}
