import type { Problem } from '../error-fields.ts';
import { type CallFacts, TillConnectionError, TillError } from '../errors.ts';
import type { ReadResponse } from './attempt.ts';
import { readRetryAfter } from './retry.ts';

/** The JSON of a successful response. Undefined if it has no body. Throws if it is not JSON, or not from Till. */
export function readResponse(response: ReadResponse, call: CallFacts): unknown {
  requireSuccess(response, call);
  return response.text === '' ? undefined : readBody(response, call);
}

/** The JSON of a response with any status. */
export function readBody(response: ReadResponse, call: CallFacts): unknown {
  const body = parse(response.text);
  if (body === undefined) throw notFromTill(response, call);
  return body;
}

export function requireSuccess(response: ReadResponse, call: CallFacts): void {
  if (response.status >= 200 && response.status < 300) return;
  const body = parse(response.text);
  if (!isProblem(body)) throw notFromTill(response, call);
  throw new TillError(
    { ...body, status: response.status },
    {
      ...call,
      retryAfterSeconds: retryAfterOf(response),
      isReplay: response.headers.get('idempotent-replayed') === 'true',
    },
  );
}

/** Undefined if the text is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'code' in body && typeof body.code === 'string';
}

function retryAfterOf({ headers }: ReadResponse): number | undefined {
  return readRetryAfter(headers.get('retry-after'), Date.now());
}

function notFromTill(response: ReadResponse, call: CallFacts): TillConnectionError {
  const { status, headers } = response;
  // A browser shows a redirect that it did not follow as status 0.
  const isRedirect = status === 0 || (status >= 300 && status < 400);
  const advice = isRedirect
    ? 'The client follows no redirect, to keep the API key. Set `url` to the final address'
    : 'Check `url`, and the proxies in between';
  const type = headers.get('content-type') ?? 'no content type';
  return new TillConnectionError(
    `the response is not from Till (status ${status}, ${type}). ${advice}`,
    call,
    { status, retryAfterSeconds: retryAfterOf(response) },
  );
}
