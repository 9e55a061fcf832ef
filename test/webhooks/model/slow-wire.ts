import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** How long the next piece of an answer is under way; undefined if it arrives at once. */
export type Pause = () => Promise<unknown> | undefined;

export interface SlowWire {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * A wire to a server on which answers are under way for a while, as on any real network. What the server does between
 * sending an answer and its arrival is then unknown to whoever asked: the gap in which a mirror can be overtaken.
 */
export async function startSlowWire(toUrl: string, pause: Pause): Promise<SlowWire> {
  const to = Number(new URL(toUrl).port);
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ port: to, host: '127.0.0.1', noDelay: true });
    for (const socket of [near, far]) {
      sockets.add(socket);
      // A connection that breaks takes its other half with it; whoever uses the wire sees that for itself.
      socket.on('error', () => {});
      socket.once('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    carry(far, near, pause).catch(() => near.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

async function carry(from: Socket, to: Socket, pause: Pause): Promise<void> {
  for await (const chunk of from) {
    await pause();
    to.write(chunk);
  }
  to.end();
}
