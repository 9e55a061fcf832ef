import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Letters, digits and the punctuation of common tracing ids; nothing that could forge a log line. */
const safePattern = /^[\w.:-]{1,128}$/;

/** What looks like an API key of Till. A caller who mixes up two headers must not leave a secret in logs and causes. */
const keyPattern = /till_[0-9a-f]{32}/;

/** The caller's request id if it is safe to log, else a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const id = headers['x-request-id'];
  const apiKey = headers['x-api-key'];
  if (typeof id !== 'string' || !safePattern.test(id) || keyPattern.test(id)) return randomUUID();
  return typeof apiKey === 'string' && apiKey !== '' && id.includes(apiKey) ? randomUUID() : id;
}
