import { type DestinationStream, type Logger, pino } from 'pino';
import { StandardOutput } from './standard-output.ts';

export type { Logger } from 'pino';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];
export const logFormats = ['json', 'pretty'] as const;
export type LogFormat = (typeof logFormats)[number];

/**
 * Writes JSON, one object per line, to standard output. It redacts nothing: callers never pass values that must not be
 * logged (keys, secrets, personal data), and errors go through `describeError`, which keeps only safe fields.
 */
export function createLogger(level: LogLevel, destination: DestinationStream = new StandardOutput()): Logger {
  const options = {
    level,
    base: { service: 'till' },
    timestamp: createTimestamp(),
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
  };
  return pino(options, destination);
}

/** The full timestamp, formatted once per millisecond: a busy service logs several lines in one. */
function createTimestamp(): () => string {
  let writtenMs = 0;
  let text = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== writtenMs) text = `,"time":"${new Date(nowMs).toISOString()}"`;
    writtenMs = nowMs;
    return text;
  };
}

/** How many causes are followed: longer chains exist only by mistake, or in a loop. */
const causeDepthMax = 5;

/**
 * An error as it may be logged. Database errors carry the offending values in `detail`, and HTTP clients attach the
 * whole request to theirs. A list of fields to keep is safer than a list of fields to remove.
 */
export function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    stack: error.stack,
    ...(error.cause === undefined || depth >= causeDepthMax
      ? {}
      : { cause: describeError(error.cause, depth + 1) }),
  };
}
