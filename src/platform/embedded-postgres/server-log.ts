import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Logger } from '../logger.ts';

export interface ServerLog {
  /** The last lines the server wrote, for the error that says why it did not start. */
  lastLines(): string;
}

/** Enough for a failed start, which takes two or three lines, with what came before it. */
const lastLinesMax = 6;
/** The server's own sentences are far shorter; this keeps a runaway line out of memory and out of the log. */
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
 * The server's severities in ours. Its LOG is mostly start, stop and housekeeping; its FATAL ends one connection,
 * which happens to each of them at every shutdown; only a PANIC takes the server down.
 */
const levels = new Map<string, 'debug' | 'warn' | 'error'>([
  ['LOG', 'debug'],
  ['PANIC', 'error'],
]);

export function parseServerLine(line: string): { level: 'debug' | 'warn' | 'error'; message: string } {
  const [, severity, message] = /^([A-Z]+[1-5]?): +(.*)$/.exec(line) ?? [];
  if (severity === undefined || message === undefined) return { level: 'warn', message: line };
  return { level: levels.get(severity) ?? 'warn', message };
}
