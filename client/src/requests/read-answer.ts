import { type CallFacts, type Problem, TillConnectionError, TillError } from '../errors.ts';
import type { Answer } from './attempt.ts';
import { readRetryAfter } from './retry.ts';

/** The JSON of a successful answer, and undefined for one without a body. Throws if it is none, or not from Till. */
export function readAnswer(answer: Answer, call: CallFacts): unknown {
  requireSuccess(answer, call);
  if (answer.text === '') return undefined;
  const body = parse(answer.text);
  if (body === undefined) throw notFromTill(answer, call);
  return body;
}

export function requireSuccess(answer: Answer, call: CallFacts): void {
  if (answer.status >= 200 && answer.status < 300) return;
  const body = parse(answer.text);
  if (!isProblem(body)) throw notFromTill(answer, call);
  throw new TillError(
    { ...body, status: answer.status },
    {
      ...call,
      retryAfterSeconds: readRetryAfter(answer.headers.get('retry-after'), Date.now()),
      isReplay: answer.headers.get('idempotent-replayed') === 'true',
    },
  );
}

/** Undefined if it is no JSON. */
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

function notFromTill({ status, headers }: Answer, call: CallFacts): TillConnectionError {
  // A browser shows a redirect that it did not follow as status 0.
  const isRedirect = status === 0 || (status >= 300 && status < 400);
  const advice = isRedirect
    ? 'The client follows no redirect, to keep the API key. Set `url` to the final address'
    : 'Check `url`, and the proxies in between';
  const type = headers.get('content-type') ?? 'no content type';
  return new TillConnectionError(
    `the response is not from Till (status ${status}, ${type}). ${advice}`,
    call,
    { status },
  );
}
