import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that systems give to connections and to servers that name no port, so that none of these takes it. */
const ports = { first: 20_000, count: 10_000 };
/** Test processes with neighbouring ids begin so far apart. */
const portsPerProcess = 37;
let nextPort = (process.pid * portsPerProcess) % ports.count;

/**
 * A port for a server that starts later. No other test process gets it: until this one ends, it keeps the UDP port with
 * the same number, which no server uses.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ports.count; attempt += 1) {
    const port = ports.first + nextPort;
    nextPort = (nextPort + 1) % ports.count;
    const reservation = createSocket('udp4').unref();
    reservation.bind(port, '127.0.0.1');
    if (!(await succeeds(once(reservation, 'listening')))) continue;
    const server = createServer().listen(port, '127.0.0.1');
    if (await succeeds(once(server, 'listening'))) {
      server.close();
      await once(server, 'close');
      return port;
    }
    reservation.close();
  }
  throw new Error('no port is free');
}

function succeeds(event: Promise<unknown>): Promise<boolean> {
  return event.then(
    () => true,
    () => false,
  );
}
