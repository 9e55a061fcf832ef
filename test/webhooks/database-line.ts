import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type Lifetime, startWebhookTill, type WebhookTill } from './webhook-till.ts';

export interface DatabaseLine {
  /** The address of the database, by way of this line. */
  readonly url: string;
  /** How many connections were asked for while it was cut. */
  refused(): number;
  /** From now on nobody gets through, and who was connected is cut off. */
  cut(): void;
  mend(): void;
}

/** Till with a line to its database that can be cut. */
export async function startOnLine(
  life: Lifetime,
): Promise<{ readonly till: WebhookTill; readonly line: DatabaseLine }> {
  const opened = Promise.withResolvers<DatabaseLine>();
  const till = await startWebhookTill(life, {
    reachDatabase: async (url) => {
      opened.resolve(startDatabaseLine(life, url));
      return opened.promise;
    },
  });
  return { till, line: await opened.promise };
}

/** A line to the test database that can be cut, as a network or a failover does. */
async function startDatabaseLine(life: Lifetime, url: string): Promise<DatabaseLine> {
  const { username, password, name, socketPath } = partsOf(url);
  const sockets = new Set<Socket>();
  let isCut = false;
  let refused = 0;
  const server = createServer((client) => {
    if (isCut) {
      refused += 1;
      client.destroy();
      return;
    }
    const upstream = connect(socketPath);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      // Whichever end breaks, the other goes with it.
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  life.after(async () => {
    cut();
    server.close();
  });
  // A TCP server's address is an object; only a pipe's is a text.
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgresql://${username}:${password}@127.0.0.1:${port}/${name}`,
    refused: () => refused,
    cut,
    mend: () => {
      isCut = false;
    },
  };
}

/** The test server listens on a socket file alone, which its address names as the host. */
function partsOf(url: string) {
  const parts = /^postgresql:\/\/(.+):(.+)@\/(.+)\?host=(.+)$/.exec(url);
  const [, username, password, name, host] = parts ?? [];
  if (host === undefined) throw new Error('the test database has another kind of address than expected');
  return { username, password, name, socketPath: `${decodeURIComponent(host)}/.s.PGSQL.5432` };
}
