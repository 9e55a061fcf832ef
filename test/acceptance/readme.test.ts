import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { startTill } from '../support/till.ts';
import { projectFolder } from '../support/till-in-child.ts';

test("the README's first payment works as it is written", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'till-readme-'));
  const till = await startTill({
    in: 'child',
    environment: { DATA_DIR: join(folder, '.till') },
    command: ['npm', 'start'],
  });
  t.after(async () => {
    await till.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const readme = await readFile(join(projectFolder, 'README.md'), 'utf8');
  const block = /```sh\n(.*?)```/s.exec(readme)?.[1] ?? '';
  assert.equal(block.match(/^.*\bcurl -s/gm)?.length, 5, 'five curl lines');
  const sandboxUrl = /http:\S+/.exec(String((await till.logged('ready'))['processor']))?.[0] ?? '';
  const script = block
    .replaceAll('http://127.0.0.1:3000', till.url)
    .replaceAll('http://127.0.0.1:3001', sandboxUrl);
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder });
  assert.match(stdout, /"amount":2000,"currency":"eur","status":"succeeded"/);
  assert.match(stdout, /"amount":2000,"currency":"eur","status":"refunded"/);
});

test("the README's table names every setting and no other", async () => {
  const readme = await readFile(join(projectFolder, 'README.md'), 'utf8');
  const documented = new Set(
    [...readme.matchAll(/^\| ((?:`[A-Z_]+`(?:, )?)+) \|/gm)].flatMap(
      ([, names]) => names?.match(/[A-Z_]+/g) ?? [],
    ),
  );
  const source = await readFile(join(projectFolder, 'src/till/config.ts'), 'utf8');
  const read = new Set(
    [...source.matchAll(/(?:env\.\w+|readKeys)\((?:env, )?'([A-Z_]+)'/g)].map(([, name]) => name),
  );
  read.delete('NODE_ENV');
  assert.deepEqual([...documented].sort(), [...read].sort());
});
