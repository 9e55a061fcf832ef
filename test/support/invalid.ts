import assert from 'node:assert/strict';
import { readProblem } from './problem.ts';

/** The response must be a 400 that names this place and no other. */
export async function assertMistake(response: Response, path: string): Promise<void> {
  const { errors } = await readProblem(response, 400, 'invalid_request');
  assert.deepEqual([...new Set(errors?.map((mistake) => mistake.path))], [path]);
}
