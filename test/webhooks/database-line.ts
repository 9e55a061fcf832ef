import { Line } from '../support/line.ts';
import { type Lifetime, startWebhookTill, type WebhookTill } from './webhook-till.ts';

/** Till with a line to its database that can be cut, as a network or a failover does. */
export async function startOnLine(
  life: Lifetime,
): Promise<{ readonly till: WebhookTill; readonly line: Line }> {
  const opened = Promise.withResolvers<Line>();
  const till = await startWebhookTill(life, {
    reachDatabase: async (url) => {
      const { username, password, name, socketPath } = partsOf(url);
      const line = await Line.open(socketPath);
      life.after(async () => line.close());
      opened.resolve(line);
      return { url: `postgresql://${username}:${password}@127.0.0.1:${line.port}/${name}` };
    },
  });
  return { till, line: await opened.promise };
}

/** The test server listens on a socket file alone, which its address names as the host. */
function partsOf(url: string) {
  const parts = /^postgresql:\/\/(.+):(.+)@\/(.+)\?host=(.+)$/.exec(url);
  const [, username, password, name, host] = parts ?? [];
  if (host === undefined) throw new Error('the test database has another kind of address than expected');
  return { username, password, name, socketPath: `${decodeURIComponent(host)}/.s.PGSQL.5432` };
}
