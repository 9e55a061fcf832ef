import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { readPage } from '../support/markdown.ts';
import { runTill } from '../support/run-till.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { projectFolder } from '../support/till-in-child.ts';

test('the commands of docs/going-live.md work in the order of the page, on a new database', async (t) => {
  const sandbox = await startSandbox({ port: 0 });
  t.after(() => sandbox.close());
  const database = await createTestDatabase('empty');
  t.after(() => database.drop());
  const environment: Record<string, string> = {
    NODE_ENV: 'production',
    API_KEYS: 'admin:a-key-of-more-than-24-characters',
    DATABASE_URL: database.url,
    REDIS_URL: 'memory://',
    PUBLIC_URL: 'https://billing.example.com',
    PROCESSOR_SECRET_KEY: 'sk_test_live',
    PROCESSOR_API_BASE: sandbox.url,
  };
  const page = readPage(await readFile(join(projectFolder, 'docs/going-live.md'), 'utf8'));
  const lines = page.blocks
    .filter(({ language }) => language === 'sh')
    .flatMap(({ code }) => code.trim().split('\n'));
  const ran: string[] = [];
  for (const line of lines) {
    const [npx, program, ...args] = line.replace('YOUR-HOST', 'billing.example.com').trim().split(' ');
    assert.deepEqual([npx, program], ['npx', 'till'], line);
    const { code, stdout, stderr } = await runTill(environment, ...args);
    assert.equal(code, 0, `${line}\n${stdout}${stderr}`);
    // The page says so.
    if (args[0] === 'webhooks') environment['PROCESSOR_WEBHOOK_SECRET'] = stdout.trim();
    ran.push(String(args[0]));
  }
  assert.deepEqual(ran, ['webhooks', 'migrate', 'keys', 'doctor']);
});
