import type { Problem } from '../error-fields.ts';
import { type CallFacts, TillConnectionError, TillError } from '../errors.ts';
import type { Answer } from './attempt.ts';
import { readRetryAfter } from './retry.ts';

/** The JSON of a successful answer, and undefined for one without a body. Throws if it is none, or not from Till. */
export function readAnswer(answer: Answer, call: CallFacts): unknown {
  requireSuccess(answer, call);
  return answer.text === '' ? undefined : readBody(answer, call);
}

/** The JSON of an answer with any status. */
export function readBody(answer: Answer, call: CallFacts): unknown {
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
      retryAfterSeconds: retryAfterOf(answer),
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

function retryAfterOf({ headers }: Answer): number | undefined {
  return readRetryAfter(headers.get('retry-after'), Date.now());
}

function notFromTill(answer: Answer, call: CallFacts): TillConnectionError {
  const { status, headers } = answer;
  // A browser shows a redirect that it did not follow as status 0.
  const isRedirect = status === 0 || (status >= 300 && status < 400);
  const advice = isRedirect
    ? 'The client follows no redirect, to keep the API key. Set `url` to the final address'
    : 'Check `url`, and the proxies in between';
  const type = headers.get('content-type') ?? 'no content type';
  return new TillConnectionError(
    `the response is not from Till (status ${status}, ${type}). ${advice}`,
    call,
    { status, retryAfterSeconds: retryAfterOf(answer) },
  );
}
