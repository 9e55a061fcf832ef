/** An endpoint that accepts all events and counts them: `GET /` returns the count. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { printReady } from './serve.ts';

let received = 0;

const server = createServer((request, response) => {
  if (request.method === 'GET') return void response.end(String(received));
  request.resume();
  request.on('end', () => {
    received += 1;
    response.writeHead(204).end();
  });
});
server.listen(0, '127.0.0.1', () => {
  printReady(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
