import assert from 'node:assert/strict';
import { readProblem } from './problem.ts';

/** Sends each wrong value in an otherwise right body; the response must be a 400 that names this field and no other. */
export async function assertRefused(
  send: (change: Readonly<Record<string, unknown>>) => Promise<Response>,
  wrong: Readonly<Record<string, readonly unknown[]>>,
): Promise<void> {
  for (const [field, values] of Object.entries(wrong)) {
    for (const value of values) {
      const { errors } = await readProblem(await send({ [field]: value }), 400, 'invalid_request');
      const paths = [...new Set(errors?.map(({ path }) => path))];
      assert.deepEqual(paths, [`body.${field}`], `${field}: ${JSON.stringify(value)}`);
    }
  }
}

/** The response must be a 400 that names this place and no other. */
export async function assertMistake(response: Response, path: string): Promise<void> {
  const { errors } = await readProblem(response, 400, 'invalid_request');
  assert.deepEqual([...new Set(errors?.map((mistake) => mistake.path))], [path]);
}

/** Invalid idempotency keys. */
export const wrongKeys = ['', 'x'.repeat(256), 'a b', 'tab\there', '\u200b', 7, null];
