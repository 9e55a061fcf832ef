import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
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

test('till keys creates a key that is shown once, lists it without it, and revokes it', async () => {
  const created = await till('keys', 'create', '--name=shop', '--scopes=refund,write');
  assert.equal(created.code, 0, created.stderr);
  const key = created.stdout.trim();
  const [id = ''] = created.stderr.split(' ');
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query('select digest, scopes from till.api_keys where id = $1', [id]);
  assert.deepEqual(rows, [
    { digest: Buffer.from(hash('sha256', key, 'hex'), 'hex'), scopes: ['write', 'refund'] },
  ]);
  const { stdout } = await till('keys', 'list');
  assert.match(
    stdout,
    new RegExp(`^${id}  shop  write,refund  created \\S+  does not expire  never used\n$`),
  );
  assert.equal((await till('keys', 'revoke', id)).code, 0);
  assert.equal((await client.query('select from till.api_keys where revoked_at is not null')).rowCount, 1);
  await client.end();
});
