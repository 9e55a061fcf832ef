/** Answers whatever comes with the same bytes: nothing serves faster, so what is measured is the load generator. */
import { createServer } from 'node:net';
import { sayReady } from './serve.ts';

const body = JSON.stringify({ received: true });
const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('data', () => socket.write(answer));
  socket.on('error', () => socket.destroy());
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') sayReady(`http://127.0.0.1:${address.port}`);
});
