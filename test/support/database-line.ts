import { Line } from './line.ts';

/** A line to a test database, and the address of the database behind it. */
export async function lineToDatabase(url: string): Promise<{ readonly line: Line; readonly url: string }> {
  const { username, password, name, socketPath } = partsOf(url);
  const line = await Line.open(socketPath);
  return { line, url: `postgresql://${username}:${password}@127.0.0.1:${line.port}/${name}` };
}

/** The test server listens on a socket file alone, which its address names as the host. */
function partsOf(url: string) {
  const parts = /^postgresql:\/\/(.+):(.+)@\/(.+)\?host=(.+)$/.exec(url);
  const [, username, password, name, host] = parts ?? [];
  if (host === undefined) throw new Error('the test database has another kind of address than expected');
  return { username, password, name, socketPath: `${decodeURIComponent(host)}/.s.PGSQL.5432` };
}
