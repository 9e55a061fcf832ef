import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shutDown } from './shut-down.ts';

/** Shuts down a server that ends at the given signal, and returns the signals that it received. */
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

test('a server that shuts down at the first signal gets no other', async () => {
  assert.deepEqual(await shutDownOf('SIGINT'), { hasEnded: true, got: ['SIGINT'] });
});

test('a server that does not shut down is told to end at once, and then killed', async () => {
  assert.deepEqual(await shutDownOf('SIGQUIT'), { hasEnded: true, got: ['SIGINT', 'SIGQUIT'] });
  assert.deepEqual(await shutDownOf('SIGKILL'), {
    hasEnded: true,
    got: ['SIGINT', 'SIGQUIT', 'SIGKILL'],
  });
});

test('a server that survives even SIGKILL is reported, without waiting for it any longer', async () => {
  assert.equal((await shutDownOf('never')).hasEnded, false);
});
