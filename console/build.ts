import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, type Plugin } from 'esbuild';

/** The packages whose code ends up in the script. Their licences require that the copyright notice goes with it. */
const bundled = ['preact', '@preact/signals', '@preact/signals-core', 'preact-iso'];

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Builds the console from its sources: the content of each file in `dist`, by name. */
export async function buildConsole(): Promise<ReadonlyMap<string, string>> {
  const [script, styles, page, icon, licences] = await Promise.all([
    bundle({
      entryPoints: [here('src/main.tsx')],
      format: 'esm',
      target: 'es2022',
      jsx: 'automatic',
      jsxImportSource: 'preact',
      plugins: [withoutNode],
    }),
    bundle({ entryPoints: [here('styles/console.css')], external: ['/console/*'] }),
    readFile(here('index.html'), 'utf8'),
    readFile(here('icon.svg'), 'utf8'),
    Promise.all(bundled.map(licenceOf)),
  ]);
  return new Map([
    ['console.js', script],
    ['console.css', styles],
    ['index.html', page],
    ['icon.svg', icon],
    ['licences.txt', licences.join('\n')],
  ]);
}

async function bundle(options: BuildOptions): Promise<string> {
  const { outputFiles = [] } = await build({
    bundle: true,
    minify: true,
    write: false,
    legalComments: 'none',
    logLevel: 'silent',
    ...options,
  });
  return outputFiles.map(({ text }) => text).join('');
}

/**
 * Constants of the service, such as its statuses, are used here too. Their files may import modules of Node for other
 * code, which is left out with its imports. An import that is needed after all would remain, and is an error.
 */
const withoutNode: Plugin = {
  name: 'without-node',
  setup({ onResolve, onEnd }) {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, external: true, sideEffects: false }));
    onEnd(({ outputFiles = [] }) => {
      if (outputFiles.some(({ text }) => /\bfrom"node:/.test(text)))
        throw new Error('The console uses code that needs Node.');
    });
  },
};

async function licenceOf(name: string): Promise<string> {
  const manifest = findPackageJSON(name, import.meta.url);
  if (manifest === undefined) throw new Error(`${name} is not installed`);
  const text = await readFile(join(manifest, '../LICENSE'), 'utf8');
  return `${name}\n\n${text}`;
}

if (import.meta.main) {
  await mkdir(here('dist'), { recursive: true });
  for (const [name, content] of await buildConsole()) await writeFile(here(`dist/${name}`), content);
}
