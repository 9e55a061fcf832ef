import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** Installs the peers, only into this folder, when they are first needed. */
export function installPeers(): void {
  if (existsSync(`${folder}node_modules`)) return;
  process.stdout.write('── installing the peers into bench/peers\n');
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--prefix', folder], { stdio: 'inherit' });
  if (status !== 0) throw new Error('the peers could not be installed');
}
