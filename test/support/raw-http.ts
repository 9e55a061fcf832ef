import { connect } from 'node:net';

export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends bytes that no well-behaved client would, and reads until the server closes the connection. */
export async function sendRaw(port: number, request: string | Buffer): Promise<RawResponse> {
  const [response] = await sendRawForAll(port, request);
  if (response === undefined) throw new Error('the server closed the connection without a response');
  return response;
}

/** The same for bytes that may be several requests, or none. */
export async function sendRawForAll(
  port: number,
  request: string | Buffer,
  /** Until then the connection is left open for more, as a client does that is not done yet. */
  heard: Promise<unknown> = Promise.withResolvers().promise,
): Promise<readonly RawResponse[]> {
  const chunks: Buffer[] = [];
  const socket = connect(port, '127.0.0.1');
  socket.write(request);
  void heard.then(() => socket.end());
  for await (const chunk of socket) chunks.push(chunk);
  return parseResponses(Buffer.concat(chunks).toString('latin1'));
}

function parseResponses(text: string): readonly RawResponse[] {
  const responses: RawResponse[] = [];
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    const [statusLine = '', ...headerLines] = rest.slice(0, end).split('\r\n');
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1];
    if (end < 0 || status === undefined) throw new Error(`not an HTTP response: ${rest.slice(0, 200)}`);
    const headers = Object.fromEntries(
      headerLines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
      }),
    );
    const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0);
    const body = Buffer.from(rest.slice(end + 4, bodyEnd), 'latin1').toString('utf8');
    responses.push({ status: Number(status), headers, body });
    rest = rest.slice(bodyEnd);
  }
  return responses;
}
