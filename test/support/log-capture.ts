import { Writable } from 'node:stream';
import { createLogger, type Logger, type LogLevel } from '#core/platform/logger.ts';

export interface LogLine {
  readonly msg: string;
  readonly level: string;
  readonly [field: string]: unknown;
}

/** A logger whose lines the test can read. */
export function captureLog(level: LogLevel = 'info'): { readonly logger: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  return { logger: createLogger(level, destination), lines };
}

/** For what a test is not about. One for all: each logger that writes to standard output listens for the exit. */
export const silentLogger = captureLog('silent').logger;
