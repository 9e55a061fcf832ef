import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Logger } from '#core/platform/logger.ts';

interface ServerLog {
  /** The last lines that the server wrote, for the error of a failed start. */
  lastLines(): string;
}

/** A failed start takes two or three lines; the rest shows what came before it. */
const lastLinesMax = 6;
/** The server's own messages are far shorter. A line from another program must not fill the log. */
const lineLengthMax = 1_000;

/** Forwards the server's output to the log, line by line, and calls `onReady` when the server accepts connections. */
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
 * Parses a line of the server's log and maps its severity. LOG is start, stop and housekeeping, except for the messages
 * about a crash. FATAL ends one connection, which happens to each connection at every shutdown. Only PANIC stops the
 * whole server. A line without severity comes from something other than the server, such as the linker.
 */
export function parseServerLine(line: string): { level: 'debug' | 'warn' | 'error'; message: string } {
  const [, severity, message] = /^([A-Z]+[1-5]?): +(.*)$/.exec(line) ?? [];
  if (severity === undefined || message === undefined) return { level: 'warn', message: line };
  if (severity === 'PANIC') return { level: 'error', message };
  return { level: severity === 'LOG' && !crashPattern.test(message) ? 'debug' : 'warn', message };
}

const crashPattern = /was terminated by signal|was interrupted|not properly shut down/;
