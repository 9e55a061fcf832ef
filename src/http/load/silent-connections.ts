import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * When the service stops, closes connections on which nothing was ever sent: browsers and load balancers open them in
 * advance. Node does not count them as idle, and would wait for them until the drain timeout.
 */
export function closeSilentConnections(app: FastifyInstance): void {
  const open = new Set<Socket>();
  app.server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  app.addHook('preClose', async () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  });
}
