import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Logger } from '../logger.ts';

export interface ServerLog {
  /** The last lines the server wrote, for the error that says why it did not start. */
  lastLines(): string;
}

/** Enough for a failed start, which takes two or three lines, with what came before it. */
const lastLinesMax = 6;
/** The server's own sentences are far shorter; a line of another make must not fill our log. */
const lineLengthMax = 1_000;

/** Forwards what the server writes to our log, line by line, and calls `onReady` when it takes connections. */
export function forwardServerLog(output: Readable, logger: Logger, onReady: () => void): ServerLog {
  const lines: string[] = [];
  createInterface({ input: output, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (text) => {
    const line = text.slice(0, lineLengthMax);
    const { level, message } = parseServerLine(line);
    logger[level](message);
    lines.push(line);
    if (lines.length > lastLinesMax) lines.shift();
    if (message === readyMessage) onReady();
  });
  return { lastLines: () => lines.join(' | ') };
}

const readyMessage = 'database system is ready to accept connections';

/**
 * A line of the server's with its severity in our terms. Its LOG is start, stop and housekeeping, but for the sentences
 * about a crash; its FATAL ends one connection, which happens to each at every shutdown; only a PANIC takes the
 * whole server down. A line without severity comes from something other than the server, such as the linker.
 */
export function parseServerLine(line: string): { level: 'debug' | 'warn' | 'error'; message: string } {
  const [, severity, message] = /^([A-Z]+[1-5]?): +(.*)$/.exec(line) ?? [];
  if (severity === undefined || message === undefined) return { level: 'warn', message: line };
  if (severity === 'PANIC') return { level: 'error', message };
  return { level: severity === 'LOG' && !aboutCrash.test(message) ? 'debug' : 'warn', message };
}

const aboutCrash = /was terminated by signal|was interrupted|not properly shut down/;
