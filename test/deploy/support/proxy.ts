import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { freePort } from '../../support/free-port.ts';
import { findProgram } from '../../support/require-program.ts';
import { projectFolder } from '../../support/till-in-child.ts';

export interface Proxy {
  readonly url: string;
  readonly child: ChildProcess;
}

/** HAProxy with the file of this project, in which only the addresses are others. */
export async function startProxy(
  t: TestContext,
  servers: readonly { readonly port: number | string }[],
): Promise<Proxy> {
  const port = await freePort();
  let settings = await readFile(join(projectFolder, 'deploy/haproxy.cfg'), 'utf8');
  settings = settings.replace('bind :8080', `bind 127.0.0.1:${port}`);
  for (const [index, server] of servers.entries())
    settings = settings.replace(`till-${index + 1}:3000`, `127.0.0.1:${server.port}`);
  const folder = await mkdtemp(join(tmpdir(), 'till-proxy-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'haproxy.cfg'), settings);
  const child = spawn(findProgram('haproxy') ?? 'haproxy', ['-W', '-f', join(folder, 'haproxy.cfg')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  let said = '';
  for await (const line of createInterface({ input: child.stderr })) {
    said += `${line}\n`;
    if (line.includes('Loading success')) {
      child.stderr.resume();
      return { url: `http://127.0.0.1:${port}`, child };
    }
  }
  throw new Error(said);
}
