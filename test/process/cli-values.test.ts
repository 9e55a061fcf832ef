import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { createTestDatabase } from '../support/test-database.ts';
import { projectFolder } from '../support/till-in-child.ts';

const database = await createTestDatabase();
after(() => database.drop());

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function till(...args: readonly string[]): Promise<Outcome> {
  const environment = {
    PATH: process.env['PATH'],
    DATABASE_URL: database.url,
    PROCESSOR_SECRET_KEY: 'sk_test_cli',
    PROCESSOR_WEBHOOK_SECRET: 'whsec_cli',
  };
  const run = promisify(execFile)(process.execPath, ['src/cli/cli.ts', ...args], {
    cwd: projectFolder,
    env: environment,
  });
  return run.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Outcome) => ({ code, stdout, stderr }),
  );
}

test('till events takes a page in decimal digits, up to the largest that the API takes, and refuses anything else', async () => {
  for (const page of ['1e400', '2147483648']) {
    const { code, stdout, stderr } = await till('events', `--page=${page}`);
    assert.equal(code, 1, page);
    assert.match(stderr, /^--page must be a whole number from 1 to 2147483647\./, page);
    assert.equal(stdout, '');
  }
  const last = await till('events', '--page=2147483647');
  assert.deepEqual(last, { code: 0, stdout: '0 in total\n', stderr: '' });
});
