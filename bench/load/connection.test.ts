import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { Connection } from './connection.ts';

const responses = [
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst',
  'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 6\r\n\r\nsecond',
];
const server = createServer({ noDelay: true }, (socket: Socket) => {
  let served = 0;
  // Sends each response in two pieces, split at a different place each time, in the head and in the body.
  socket.on('data', (request) => {
    const response = responses[served % responses.length] ?? '';
    const cut = Number(String(request));
    served += 1;
    socket.write(response.slice(0, cut), () => socket.write(response.slice(cut)));
  });
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());

test('a response is read in full wherever it is split, and the next one starts after it', async () => {
  // A server on a port has an object as its address.
  const { port } = server.address() as AddressInfo;
  const connection = await Connection.open(`http://127.0.0.1:${port}`);
  for (let cut = 1; cut < 40; cut += 1) {
    assert.deepEqual(await connection.send(Buffer.from(String(cut))), { status: 200, body: 'first' });
    assert.deepEqual(await connection.send(Buffer.from(String(cut))), { status: 503, body: 'second' });
  }
  connection.close();
});
