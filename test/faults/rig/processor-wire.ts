import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Front } from './rig.ts';

/** `invalidResponse`: whatever is asked, the answer is a page, as from a proxy put in between by mistake. */
export type WireMode = 'open' | 'down' | 'invalidResponse';

export interface ProcessorWire extends Front {
  setMode(mode: WireMode): Promise<void>;
  /** The most connections that there were at a time. */
  readonly connectionsPeak: number;
}

const page = '<html><body>Welcome to the proxy!</body></html>';
const invalidResponse = `HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: ${page.length}\r\n\r\n${page}`;

/** The way from Till to its processor, which can be made to fail below anything that the processor itself can do. */
export async function startProcessorWire(processorUrl: string): Promise<ProcessorWire> {
  const target = Number(new URL(processorUrl).port);
  const sockets = new Set<Socket>();
  let mode: WireMode = 'open';
  let connectionsPeak = 0;
  const server = createServer({ noDelay: true }, (near) => {
    sockets.add(near);
    connectionsPeak = Math.max(connectionsPeak, sockets.size);
    near.on('error', () => {});
    near.once('close', () => sockets.delete(near));
    if (mode === 'invalidResponse') near.on('data', () => near.write(invalidResponse));
    else carry(near, connect({ port: target, host: '127.0.0.1', noDelay: true }));
  });
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  const hangUp = async () => {
    for (const socket of sockets) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return {
    url: `http://127.0.0.1:${port}`,
    get connectionsPeak() {
      return connectionsPeak;
    },
    setMode: async (next) => {
      mode = next;
      await hangUp();
      if (mode !== 'down') await listen(server, port);
    },
    close: hangUp,
  };
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

/** A connection that ends or breaks takes its other half with it. */
function carry(near: Socket, far: Socket): void {
  far.on('error', () => {});
  far.once('close', () => near.destroy());
  near.once('close', () => far.destroy());
  near.pipe(far).pipe(near);
}
