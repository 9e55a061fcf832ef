import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { Front } from './rig.ts';

/** A few looks fit into the second for which a process that is to end serves on. */
const lookDelayMs = 100;
const lookTimeoutMs = 2_000;

/**
 * A load balancer as plain as they come: it knows nothing of HTTP but /health, and carries each new connection to the next
 * process that is healthy.
 */
export async function startBalancer(targets: readonly { readonly url: string }[]): Promise<Front> {
  const healthy = new Set<string>();
  const stopping = new AbortController();
  const look = async (url: string) => {
    const signal = AbortSignal.any([AbortSignal.timeout(lookTimeoutMs), stopping.signal]);
    const isUp = await fetch(`${url}/health`, { signal }).then(
      async (answer) => (await answer.text()) !== '' && answer.ok,
      () => false,
    );
    if (isUp) healthy.add(url);
    else healthy.delete(url);
  };
  const lookOn = async () => {
    while (!stopping.signal.aborted) {
      await Promise.all(targets.map(({ url }) => look(url)));
      await setTimeout(lookDelayMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };
  await Promise.all(targets.map(({ url }) => look(url)));
  const looking = lookOn();

  let turn = 0;
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (near) => {
    const up = targets.filter(({ url }) => healthy.has(url));
    const target = up[turn++ % up.length];
    if (target === undefined) {
      near.destroy();
      return;
    }
    const port = Number(new URL(target.url).port);
    join(near, connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true }), sockets);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      stopping.abort();
      server.close();
      for (const socket of sockets) socket.destroy();
      await Promise.all([looking, once(server, 'close')]);
    },
  };
}

/** What one side ends, ends on the other; what breaks on one side, breaks on the other. */
function join(near: Socket, far: Socket, sockets: Set<Socket>): void {
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    sockets.add(one);
    one.pipe(other);
    one.on('error', () => other.resetAndDestroy());
    one.once('close', () => sockets.delete(one));
  }
}
