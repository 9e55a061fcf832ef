import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type BuildOptions, buildPackages, packageNames, root } from './build-packages.ts';
import { notesOf } from './release-edits.ts';
import { runNpm } from './run-npm.ts';

/** It reads two files. This is for a busy machine. */
const timeoutMs = 120_000;

/**
 * Builds everything of a release that needs no credentials into dist/: the packages, the bill of materials, the
 * checksums of both, and the notes. Returns the paths of the files with checksums.
 */
export async function buildRelease(options: Omit<BuildOptions, 'folder'>): Promise<readonly string[]> {
  const { version } = options;
  const folder = join(root, 'dist');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const packed = await buildPackages(packageNames, { ...options, folder });
  const bill = join(folder, `till-${version}.cdx.json`);
  await writeFile(bill, await billOfMaterials());
  const files = [...packed, bill];
  const sums = await Promise.all(files.map(async (path) => `${await digestOf(path)}  ${basename(path)}\n`));
  await writeFile(join(folder, 'SHA256SUMS'), sums.join(''));
  const changelog = await readFile(join(root, 'CHANGELOG.md'), 'utf8');
  await writeFile(join(folder, 'release-notes.md'), `${notesOf(changelog, version)}\n`);
  return files;
}

/**
 * What runs with Till, as CycloneDX: the packages that the lock file pins, without those of development. The workspaces
 * and the packages of development are removed first: of a package that both need, npm would say nothing.
 */
async function billOfMaterials(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'till-sbom-'));
  // npm names the bill after the folder.
  const folder = join(parent, 'till');
  try {
    await mkdir(folder);
    const { workspaces: _, devDependencies: __, ...manifest } = await readJson('package.json');
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
    const { packages, ...lock } = await readJson('package-lock.json');
    const installed = Object.entries<LockedPackage>(packages).filter(
      ([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link,
    );
    const pinned = { ...lock, packages: { '': manifest, ...Object.fromEntries(installed) } };
    await writeFile(join(folder, 'package-lock.json'), JSON.stringify(pinned));
    const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
    const { stdout } = await runNpm(folder, args, timeoutMs);
    return stdout;
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
}

interface LockedPackage {
  readonly dev?: boolean;
  readonly link?: boolean;
}

async function readJson(path: string) {
  return JSON.parse(await readFile(join(root, path), 'utf8'));
}

async function digestOf(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}
