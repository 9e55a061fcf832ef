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

/** Reads a response that must be a complete problem with this status and code. */
export async function readProblem(response: Response, status: number, code: string): Promise<ProblemBody> {
  const text = await response.text();
  assert.equal(response.status, status, text);
  assert.equal(response.headers.get('content-type'), 'application/problem+json');
  const problem: ProblemBody = JSON.parse(text);
  assert.equal(problem.status, status);
  assert.equal(problem.code, code);
  assert.equal(problem.type, `urn:till:problem:${code}`);
  assert.equal(problem.requestId, response.headers.get('x-request-id'));
  assert.ok(problem.title.length > 0 && problem.detail.length > 0);
  return problem;
}
