import { randomUUID } from 'node:crypto';

/** Letters, digits and the marks that common tracing ids use; nothing that could forge a log line. */
const sanePattern = /^[\w.:-]{1,128}$/;

/** The caller's request id if it is sane, else a new one. */
export function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === 'string' && sanePattern.test(header) ? header : randomUUID();
}
