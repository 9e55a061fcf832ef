import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** Installs the peers, only into this folder, when one is first needed. */
export function installPeers(): void {
  const { dependencies } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8'));
  if (Object.keys(dependencies).every((name) => existsSync(`${folder}node_modules/${name}`))) return;
  process.stdout.write('── installing the peers into bench/peers\n');
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--prefix', folder], { stdio: 'inherit' });
  if (status !== 0) throw new Error('the peers could not be installed');
}
