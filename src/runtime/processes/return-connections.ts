import type { Worker } from 'node:cluster';

/** The messages with which `node:cluster` gives a connection to a process, and with which the process confirms it. */
interface ClusterMessage {
  readonly cmd?: string;
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

/**
 * Gives a connection to another process if the first one dies before it has accepted the connection. `node:cluster`
 * would keep the connection open, and no process would respond on it. The connection is returned with the message that
 * the library itself uses for a process that refuses one. A test in `test/faults/processes.test.ts` fails if that
 * changes.
 */
export function returnConnections(worker: Worker): void {
  const child = worker.process;
  const unconfirmed = new Set<number>();
  const send = child.send?.bind(child);
  if (send === undefined) return;
  child.send = (message: ClusterMessage, ...rest: unknown[]) => {
    if (message.act === 'newconn' && message.seq !== undefined) unconfirmed.add(message.seq);
    // The parameters are those of the method that it replaces.
    return (send as (...all: unknown[]) => boolean)(message, ...rest);
  };
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) unconfirmed.delete(ack);
  });
  child.once('exit', () =>
    afterReading(() => {
      if (unconfirmed.size === 0) return;
      // The library still waits for the confirmation, and would choose the process again.
      child.emit('disconnect');
      for (const ack of unconfirmed)
        child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false });
    }),
  );
}

/**
 * Runs `work` after one more turn of the event loop. By then, everything that the process had written has been read.
 */
function afterReading(work: () => void): void {
  setImmediate(() => setImmediate(work));
}
