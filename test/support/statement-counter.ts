import type { Socket } from 'node:net';
import type { Backend } from './backend.ts';
import { lineToDatabase } from './tcp-line.ts';

export interface StatementCounter {
  /** The backend's database, reached through the counter. */
  readonly databaseUrl: string;
  /** How many statements have been sent so far. */
  readonly count: () => number;
  /** How often a client has sent statements after a response. Statements that are sent together share a round trip. */
  readonly roundTrips: () => number;
  /** Whether a client waits for the end of a statement. */
  readonly isBusy: () => boolean;
  /** Resolves once this many more statements that contain the text have been sent. */
  readonly sent: (text: string, times: number) => Promise<void>;
}

/** Every message of the protocol but the first of a connection: a letter, and the length of the rest. */
const headerBytes = 5;
/** A statement without parameters, and the execution of one that has them. */
const statementTypes = new Set(['Q', 'E']);
/** After these, the server reports that it is ready for more. */
const endTypes = new Set(['Q', 'S']);
const readyType = 'Z';

/** Counts the statements that a Till sends to the backend's database, and the round trips that they take. */
export async function countStatements({
  databaseUrl,
  atEnd,
}: Pick<Backend, 'databaseUrl' | 'atEnd'>): Promise<StatementCounter> {
  let count = 0;
  let roundTrips = 0;
  const busy = new Set<Socket>();
  const waiting = new Set<{ readonly text: string; left: number; readonly resolve: () => void }>();
  const onMessage = (type: string, body: Buffer) => {
    if (statementTypes.has(type)) count += 1;
    for (const waiter of waiting) {
      if (!body.includes(waiter.text)) continue;
      waiter.left -= 1;
      if (waiter.left > 0) continue;
      waiting.delete(waiter);
      waiter.resolve();
    }
  };
  const { line, url } = await lineToDatabase(databaseUrl, {
    onSent: (server) => {
      let hasResponded = true;
      // The server reports once that it is ready after the start, and then after each statement and its
      // synchronization.
      let unended = 1;
      busy.add(server);
      server.once('close', () => busy.delete(server));
      const update = (change: number) => {
        unended += change;
        if (unended > 0) busy.add(server);
        else busy.delete(server);
      };
      const readResponse = messageReader((type) => {
        if (type === readyType) update(-1);
      }, false);
      server.on('data', (chunk: Buffer) => {
        hasResponded = true;
        readResponse(chunk);
      });
      const read = messageReader((type, body) => {
        if (endTypes.has(type)) update(1);
        onMessage(type, body);
      });
      return (chunk) => {
        const before = count;
        read(chunk);
        if (count === before || !hasResponded) return;
        roundTrips += 1;
        hasResponded = false;
      };
    },
  });
  atEnd(() => line.close());
  return {
    databaseUrl: url,
    count: () => count,
    roundTrips: () => roundTrips,
    isBusy: () => busy.size > 0,
    sent: (text, times) => new Promise((resolve) => waiting.add({ text, left: times, resolve })),
  };
}

/** Cuts what one side sends into its messages. The first one of a client has no letter. */
function messageReader(
  onMessage: (type: string, body: Buffer) => void,
  isClient = true,
): (chunk: Buffer) => void {
  let received = Buffer.alloc(0);
  let isFirst = isClient;
  return (chunk) => {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const typeBytes = isFirst ? 0 : 1;
      if (received.length < headerBytes) return;
      const end = typeBytes + received.readUInt32BE(typeBytes);
      if (received.length < end) return;
      if (!isFirst) onMessage(received.toString('latin1', 0, 1), received.subarray(headerBytes, end));
      isFirst = false;
      received = received.subarray(end);
    }
  };
}
