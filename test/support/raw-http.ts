import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends bytes that no well-behaved client would, and reads until the server closes the connection. */
export async function sendRaw(port: number, request: string | Buffer): Promise<RawAnswer> {
  const chunks: Buffer[] = [];
  const socket = connect(port, '127.0.0.1');
  socket.write(request);
  for await (const chunk of socket) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  const [head = '', body = ''] = text.split('\r\n\r\n', 2);
  const [statusLine = '', ...headerLines] = head.split('\r\n');
  const headers = headerLines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return { status: Number(statusLine.split(' ')[1]), headers: Object.fromEntries(headers), body };
}
