import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Manifest, packedManifest } from './packed-manifest.ts';
import { runNpm } from './run-npm.ts';

export const packageNames = ['server', 'client', 'sandbox'] as const;
export type PackageName = (typeof packageNames)[number];

export const root = fileURLToPath(new URL('..', import.meta.url));
/** Compiling and packing take seconds. This is for a busy machine. */
const timeoutMs = 300_000;

interface Recipe {
  /** The folder of the workspace. Its manifest is that of the package, but for what only a checkout needs. */
  readonly home: string;
  readonly readme: string;
  readonly tsconfig: string;
  /** The folder of the source, and where its compiled files go in the package. */
  readonly source: string;
  readonly outDir: string;
  /** Files of the source that are copied as they are. */
  readonly copied: readonly string[];
}

const recipes: Readonly<Record<PackageName, Recipe>> = {
  server: {
    home: '.',
    readme: 'packages/server/README.md',
    tsconfig: 'packages/server/tsconfig.json',
    // The paths in the package are those of the checkout: files find each other by relative addresses.
    source: '.',
    outDir: '.',
    copied: [
      'console/dist/*',
      'migrations/*.sql',
      'site/dist/**/*.*',
      'sandbox/browser/{page,frame}/*.{js,css}',
      'sandbox/pages/*.css',
      'src/http/docs/page/*.{js,css,svg}',
    ],
  },
  client: {
    home: 'client',
    readme: 'client/README.md',
    tsconfig: 'client/tsconfig.json',
    source: 'client/src',
    outDir: 'dist',
    copied: [],
  },
  sandbox: {
    home: 'sandbox',
    readme: 'packages/sandbox/README.md',
    tsconfig: 'packages/sandbox/tsconfig.json',
    source: 'sandbox',
    outDir: 'dist',
    copied: ['README.md', 'browser/{page,frame}/*.{js,css}', 'pages/*.css', 'testing/playwright.{mjs,d.mts}'],
  },
};

export interface BuildOptions {
  /** Gets a folder for each package, and the packed files. */
  readonly folder: string;
  readonly version: string;
  /** The address of the repository, from which npm verifies where a package was built. */
  readonly repository?: string | undefined;
}

/** Compiles packages and packs them. Returns the paths of the packed files. */
export async function buildPackages(
  names: readonly PackageName[],
  options: BuildOptions,
): Promise<readonly string[]> {
  const folders = await Promise.all(names.map((name) => writePackage(name, options)));
  // npm takes longer to start than to pack one of them.
  const args = ['pack', '--json', '--pack-destination', options.folder, ...folders];
  const { stdout } = await runNpm(root, args, timeoutMs);
  const packed = JSON.parse(stdout) as readonly { readonly filename: string }[];
  if (packed.length !== names.length) throw new Error(`npm packed ${packed.length} of ${names.join(', ')}`);
  return packed.map(({ filename }) => join(options.folder, basename(filename)));
}

/** Writes the files of a package into a folder of its own, and returns the folder. */
async function writePackage(name: PackageName, options: BuildOptions): Promise<string> {
  const { readme, tsconfig, source, outDir, copied } = recipes[name];
  const target = join(options.folder, name);
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  await compile(tsconfig, join(target, outDir));
  for (const path of copied.flatMap((pattern) => globSync(pattern, { cwd: join(root, source) })))
    await cp(join(root, source, path), join(target, outDir, path));
  await cp(join(root, readme), join(target, 'README.md'));
  await cp(join(root, 'LICENSE'), join(target, 'LICENSE'));
  await writeFile(
    join(target, 'package.json'),
    `${JSON.stringify(await manifestOf(name, options), null, 2)}\n`,
  );
  return target;
}

async function compile(tsconfig: string, outDir: string): Promise<void> {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  // Several threads check the types that files share several times.
  const args = [compiler, '-p', tsconfig, '--outDir', outDir, '--singleThreaded'];
  await promisify(execFile)(process.execPath, args, { cwd: root, timeout: timeoutMs }).catch(
    (error: { readonly stdout?: string }) => {
      throw new Error(`${tsconfig} does not compile:\n${error.stdout}`, { cause: error });
    },
  );
}

async function manifestOf(name: PackageName, { version, repository }: BuildOptions): Promise<object> {
  const { home, source, outDir } = recipes[name];
  const manifest = packedManifest(await readManifest(home), { source: relative(home, source), outDir });
  const place = home === '.' ? {} : { directory: home };
  return {
    ...manifest,
    ...(name === 'server' ? withoutNode(manifest) : {}),
    version,
    ...(repository === undefined ? {} : { repository: { type: 'git', url: repository, ...place } }),
  };
}

/** A checkout brings Node 24, so an older Node may install it. Those who use the package install Node themselves. */
function withoutNode({ optionalDependencies = {} }: Manifest): Manifest {
  const others = Object.entries(optionalDependencies).filter(([name]) => !name.startsWith('node-'));
  return { engines: { node: '>=24' }, optionalDependencies: Object.fromEntries(others) };
}

export async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8')) as Manifest;
}
