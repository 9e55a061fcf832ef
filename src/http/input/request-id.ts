import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Letters, digits and the punctuation of common tracing ids; nothing that could forge a log line. */
const safePattern = /^[\w.:-]{1,128}$/;

/**
 * Text that looks like an API key that Till has created. A caller who confuses two headers must not leave an API key in
 * logs and causes.
 */
const keyPattern = /till_[\w-]{32}/;

/** The caller's request id if it is safe to log, else a new one. */
export function requestIdOf(headers: IncomingHttpHeaders, isApiKey: (text: string) => boolean): string {
  const id = headers['x-request-id'];
  const apiKey = headers['x-api-key'];
  if (typeof id !== 'string' || !safePattern.test(id) || keyPattern.test(id)) return randomUUID();
  // The other header may be empty, or contain the API key of another caller.
  if (isApiKey(id)) return randomUUID();
  return typeof apiKey === 'string' && apiKey !== '' && id.includes(apiKey) ? randomUUID() : id;
}
