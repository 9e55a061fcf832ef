import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shutDown } from './shut-down.ts';

/** A server that ends at the given signal, and the signals it got. */
async function shutDownOf(
  endsAt: NodeJS.Signals | 'never',
): Promise<{ hasEnded: boolean; got: NodeJS.Signals[] }> {
  const got: NodeJS.Signals[] = [];
  const hasEnded = await shutDown(
    (signal) => got.push(signal),
    async () => got.at(-1) === endsAt,
  );
  return { hasEnded, got };
}

test('a server that shuts down in order is not pushed further', async () => {
  assert.deepEqual(await shutDownOf('SIGINT'), { hasEnded: true, got: ['SIGINT'] });
});

test('one that does not is told to end at once, and then killed', async () => {
  assert.deepEqual(await shutDownOf('SIGQUIT'), { hasEnded: true, got: ['SIGINT', 'SIGQUIT'] });
  assert.deepEqual(await shutDownOf('SIGKILL'), { hasEnded: true, got: ['SIGINT', 'SIGQUIT', 'SIGKILL'] });
});

test('one that outlives even that is reported, not waited for', async () => {
  assert.equal((await shutDownOf('never')).hasEnded, false);
});
