import type { Backend } from './backend.ts';
import { lineToDatabase } from './tcp-line.ts';

export interface StatementCounter {
  /** The backend's database, reached through the counter. */
  readonly databaseUrl: string;
  /** How many statements have been sent so far. */
  readonly count: () => number;
  /** Resolves once this many more statements that contain the text have been sent. */
  readonly sent: (text: string, times: number) => Promise<void>;
}

/** Every message of the protocol but the first of a connection: a letter, and the length of the rest. */
const headerBytes = 5;
/** A statement without parameters, and the execution of one that has them. */
const statementTypes = new Set(['Q', 'E']);

/** Counts the statements that a Till sends to the backend's database. */
export async function countStatements({
  databaseUrl,
  atEnd,
}: Pick<Backend, 'databaseUrl' | 'atEnd'>): Promise<StatementCounter> {
  let count = 0;
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
  const { line, url } = await lineToDatabase(databaseUrl, { onSent: () => messageReader(onMessage) });
  atEnd(() => line.close());
  return {
    databaseUrl: url,
    count: () => count,
    sent: (text, times) => new Promise((resolve) => waiting.add({ text, left: times, resolve })),
  };
}

/** Cuts what a client sends into its messages; the first has no letter. */
function messageReader(onMessage: (type: string, body: Buffer) => void): (chunk: Buffer) => void {
  let received = Buffer.alloc(0);
  let isFirst = true;
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
