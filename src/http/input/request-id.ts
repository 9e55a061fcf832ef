import { randomUUID } from 'node:crypto';

/** Letters, digits and the punctuation of common tracing ids; nothing that could forge a log line. */
const safePattern = /^[\w.:-]{1,128}$/;

/** The caller's request id if it is safe to log, else a new one. */
export function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === 'string' && safePattern.test(header) ? header : randomUUID();
}
