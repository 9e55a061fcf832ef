import { readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';

/** Where the global set-up leaves the folder of the bundles, if it created any. */
export const bundleVariable = 'TEST_BUNDLES';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** What tests start often, only to kill it, and the client that the examples of the documentation import. */
const programs = [
  'src/main.ts',
  'src/cli/cli.ts',
  'client/src/index.ts',
  'test/support/doomed-process.ts',
  'test/support/embedded-postgres-service.ts',
] as const;
/** Packages that read files next to their own, and the one that creates the bundles. */
const external = ['@embedded-postgres/*', 'esbuild', 'pino'];

/**
 * Joins the source of each program and its packages into few files. A start from a thousand files takes a second of CPU
 * time, which is twice as long as from a bundle, and a run starts a hundred of them. Tests of the start itself, and
 * single test files, start from the source, as users do.
 */
export async function bundlePrograms(folder: string): Promise<void> {
  // Tests copy files that import this one without the packages of development.
  const { build } = await import('esbuild');
  await build({
    absWorkingDir: root,
    entryPoints: [...programs],
    outbase: root,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    keepNames: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    logLevel: 'warning',
    external,
    // Some packages load modules of Node with `require`.
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(${JSON.stringify(join(root, 'package.json'))});`,
    },
    plugins: [keepAddresses],
  });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
}

/** The file to start for a program: its bundle, if there is one. */
export function programFile(program: (typeof programs)[number]): string {
  const folder = process.env[bundleVariable];
  return folder === undefined ? program : join(folder, program.replace(/\.ts$/, '.mjs'));
}

/** Files find others, such as migrations, from their own address in the source. */
const keepAddresses: Plugin = {
  name: 'keep-addresses',
  setup({ onLoad }) {
    onLoad({ filter: /\/(src|sandbox|test)\/.*\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      const contents = source
        // esbuild joins what it sees a file require.
        .replaceAll('createRequire(import.meta.url)(', 'require(')
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)));
      return { loader: 'ts', contents };
    });
  },
};
