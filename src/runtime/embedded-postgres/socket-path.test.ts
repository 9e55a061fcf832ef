import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { openSocketDir } from './socket-path.ts';

test('a folder whose path fits into a socket address is used as it is', () => {
  // With the name of the socket, this path has 103 bytes, all that macOS allows.
  const fits = `/${'d'.repeat(87)}`;
  assert.equal(openSocketDir(fits, 'darwin').path, fits);
  assert.equal(openSocketDir(`${fits}dddd`, 'linux').path, `${fits}dddd`);
});

for (const platform of ['linux', 'darwin']) {
  const skip = platform === 'linux' && process.platform !== 'linux' ? 'needs /proc' : false;
  test(`a longer one is reached by a short path, as on ${platform}`, { skip }, async (t) => {
    const root = mkdtempSync(join(tmpdir(), 'till-socket-'));
    t.after(() => rmSync(root, { recursive: true }));
    const dir = join(root, 'd'.repeat(100));
    mkdirSync(dir);
    const short = openSocketDir(dir, platform);
    assert.ok(`${short.path}/.s.PGSQL.5432`.length <= 103, short.path);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(`${short.path}/.s.PGSQL.5432`, resolve));
    assert.ok(existsSync(join(dir, '.s.PGSQL.5432')));
    await new Promise((resolve) => server.close(resolve));
    short.close();
    if (platform === 'darwin') assert.ok(!existsSync(dirname(short.path)));
  });
}
