import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { Interrupted } from '#cli/interrupted.ts';
import { runCommandLine } from '#cli/run.ts';
import { nodes, skipWithoutOlderNodes } from '../support/older-nodes.ts';
import { type CommandOutcome, runTill } from '../support/run-till.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { projectFolder } from '../support/till-in-child.ts';

const database = await createTestDatabase();
after(() => database.drop());

function till(...args: readonly string[]): Promise<CommandOutcome> {
  const environment = {
    DATABASE_URL: database.url,
    PROCESSOR_SECRET_KEY: 'sk_test_cli',
    PROCESSOR_WEBHOOK_SECRET: 'whsec_cli',
  };
  return runTill(environment, ...args);
}

test('the bin ends a bad command line with exit code 2 and the usage on standard error, and --help with 0', async () => {
  const bin = (...args: readonly string[]) =>
    promisify(execFile)(process.execPath, ['src/cli/bin.mjs', ...args], { cwd: projectFolder });
  await assert.rejects(bin('keys', 'create'), (error: CommandOutcome) => {
    assert.equal(error.code, 2);
    assert.equal(error.stdout, '');
    assert.match(error.stderr, /^--name needs a value: --name NAME\.\n\nUsage: till keys create --name NAME/);
    return true;
  });
  assert.match((await bin('--help')).stdout, /^Usage: till COMMAND\n/);
});

test('with an older Node, the bin starts itself again with the installed one, and ends as that does', {
  skip: skipWithoutOlderNodes(),
}, async () => {
  const bin = (...args: readonly string[]) =>
    promisify(execFile)(nodes[0].path, ['src/cli/bin.mjs', ...args], { cwd: projectFolder });
  assert.match((await bin('--version')).stdout, /^till \d/);
  await assert.rejects(bin('resynk'), { code: 2 });
});

test('a signal ends a command with the exit code that shells expect', async () => {
  const interruption = new AbortController();
  interruption.abort(new Interrupted('SIGINT'));
  const code = await runCommandLine(['events'], {
    environment: { DATABASE_URL: database.url },
    workingDir: projectFolder,
    stdout: process.stdout,
    stderr: process.stderr,
    signal: interruption.signal,
  });
  assert.equal(code, 130);
});

test('output that cannot be written fails the command, and a reader that has enough does not', async () => {
  const inShell = (line: string) => promisify(execFile)('bash', ['-c', line], { cwd: projectFolder });
  const command = `'${process.execPath}' src/cli/bin.mjs --help`;
  await assert.rejects(inShell(`${command} > /dev/full`), (error: CommandOutcome) => {
    assert.equal(error.code, 1);
    assert.match(error.stderr, /^till: the output cannot be written: ENOSPC/);
    return true;
  });
  await inShell(`set -o pipefail; ${command} | true`);
});

test('till events takes a page in decimal digits, up to the largest that the API takes, and refuses anything else', async () => {
  for (const page of ['1e400', '2147483648']) {
    const { code, stdout, stderr } = await till('events', `--page=${page}`);
    assert.equal(code, 2, page);
    assert.match(
      stderr,
      /^--page must be a whole number from 1 to 2147483647\.\n\nUsage: till events /,
      page,
    );
    assert.equal(stdout, '');
  }
  const last = await till('events', '--page=2147483647');
  assert.deepEqual(last, { code: 0, stdout: '0 in total\n', stderr: '' });
  const { stdout } = await till('events', '--json');
  assert.deepEqual(JSON.parse(stdout), { data: [], page: 1, total: 0, totalCapped: false });
});

test('an event or an API key that does not exist is one line on standard error, and exit code 1', async () => {
  for (const args of [
    ['events', 'show', 'evt_missing'],
    ['events', 'replay', 'evt_missing', '--json'],
    ['keys', 'revoke', 'no-uuid'],
  ]) {
    const { code, stdout, stderr } = await till(...args);
    assert.equal(code, 1, args.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, /^[^\n]+\n$/);
  }
});

test('on a database without the schema, every command says how to create it', async (t) => {
  const empty = await createTestDatabase('empty');
  t.after(() => empty.drop());
  const environment = { DATABASE_URL: empty.url, PROCESSOR_SECRET_KEY: 'sk_test_cli' };
  for (const line of [
    'keys create --name shop --scopes write',
    'keys list',
    'keys revoke 01980000-0000-7000-8000-000000000000',
    'events',
    'events show evt_1',
    'events replay evt_1',
    'resync',
    'resync --all',
    'import --dry-run',
    'import',
    'adopt-account',
  ]) {
    const { code, stdout, stderr } = await runTill(environment, ...line.split(' '));
    assert.deepEqual([code, stdout], [1, ''], line);
    assert.match(
      stderr,
      /^till: the database lacks \d+ migrations of this release\. Run "till migrate" [^\n]+\n$/,
      line,
    );
  }
  assert.equal((await runTill(environment, 'migrate')).code, 0);
  assert.equal((await runTill(environment, 'keys', 'create', '--name', 'shop', '--scopes', 'write')).code, 0);
});

test('a database that is down is named without its password, with what to do', async () => {
  const { code, stderr } = await runTill(
    {
      DATABASE_URL: 'postgresql://till:hunter2@127.0.0.1:1/till',
      PROCESSOR_SECRET_KEY: 'sk_test_cli',
      PROCESSOR_WEBHOOK_SECRET: 'whsec_cli',
    },
    ...['keys', 'list'],
  );
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^till: the database at postgresql:\/\/127\.0\.0\.1:1\/till is unavailable \(.+\); start it, or correct DATABASE_URL\n$/,
  );
});

test('till keys creates an API key and shows it once, lists it without the secret, and revokes it', async () => {
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
  const audited = `select action, key_name, person, object_type, address, request_id, outcome from till.audit_log
    where object_id = $1 order by id`;
  const by = { key_name: null, person: null, object_type: 'api_key', address: 'cli', request_id: null };
  assert.deepEqual((await client.query(audited, [id])).rows, [
    { action: 'createApiKey', ...by, outcome: 201 },
    { action: 'revokeApiKey', ...by, outcome: 204 },
  ]);
  await client.end();
});

test('with --json, till keys prints JSON and nothing else', async () => {
  const created = await till('keys', 'create', '--name=json', '--scopes=read', '--json');
  assert.equal(created.stderr, '');
  const { id, key, ...rest } = JSON.parse(created.stdout);
  assert.match(key, /^till_/);
  assert.deepEqual(
    { ...rest, createdAt: '' },
    {
      name: 'json',
      scopes: ['read'],
      createdAt: '',
      expiresAt: null,
      lastUsedAt: null,
    },
  );
  const { data } = JSON.parse((await till('keys', 'list', '--json')).stdout);
  assert.deepEqual(
    data.filter((listed: { readonly id: string }) => listed.id === id),
    [{ id, ...rest }],
  );
  const revoked = await till('keys', 'revoke', id, '--json');
  assert.deepEqual(JSON.parse(revoked.stdout), { id });
});

test('till sandbox serves until a signal, and refuses wrong options', async () => {
  const interruption = new AbortController();
  const { promise: line, resolve } = Promise.withResolvers<string>();
  const ended = runCommandLine(['sandbox', '--port=0', '--json'], {
    environment: {},
    workingDir: projectFolder,
    stdout: { write: resolve },
    stderr: process.stderr,
    signal: interruption.signal,
  });
  const { url } = JSON.parse(await line);
  const headers = { authorization: 'Bearer sk_test_cli' };
  assert.equal((await fetch(`${url}/v1/account`, { headers })).status, 200);
  interruption.abort();
  assert.equal(await ended, 0);
  const wrong = await runTill({ SANDBOX_PORT: 'x' }, 'sandbox');
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /^SANDBOX_PORT must be a port number, not "x"\.\n\nUsage: till sandbox /);
});
