/** Sends the same bytes to every request. Nothing can be faster, so this measures the load generator. */
import { createServer } from 'node:net';
import { printReady } from './serve.ts';

const body = JSON.stringify({ received: true });
const response = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('data', () => socket.write(response));
  socket.on('error', () => socket.destroy());
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') printReady(`http://127.0.0.1:${address.port}`);
});
