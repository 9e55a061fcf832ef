import assert from 'node:assert/strict';

export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly requestId: string;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
  readonly customerId?: string;
  readonly processorCode?: string;
}

/** Reads an answer that must be a complete problem with this status and code. */
export async function readProblem(answer: Response, status: number, code: string): Promise<ProblemBody> {
  const text = await answer.text();
  assert.equal(answer.status, status, text);
  assert.equal(answer.headers.get('content-type'), 'application/problem+json');
  const problem: ProblemBody = JSON.parse(text);
  assert.equal(problem.status, status);
  assert.equal(problem.code, code);
  assert.equal(problem.type, `urn:till:problem:${code}`);
  assert.equal(problem.requestId, answer.headers.get('x-request-id'));
  assert.ok(problem.title.length > 0 && problem.detail.length > 0);
  return problem;
}
