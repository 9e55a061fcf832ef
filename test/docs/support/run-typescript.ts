import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import type { CodeBlock } from '../../support/markdown.ts';
import { projectFolder } from '../../support/till-in-child.ts';
import { type ExamplePlace, installPackages } from './example-place.ts';
import { textPattern } from './page-examples.ts';

/** `console.log(payment.status); // succeeded` claims what the line prints. */
const printedClaim = /console\.log\(.*\);\s*\/\/ (\S.*)$/;

/** The blocks of a page are one module. Each begins at the line that it has in the page, so that errors name it. */
export function joinBlocks(blocks: readonly CodeBlock[]): string {
  let module = '';
  for (const { code, line } of blocks) {
    const linesSoFar = module.split('\n').length - 1;
    module += '\n'.repeat(Math.max(0, line - 1 - linesSoFar)) + code;
  }
  return module;
}

/**
 * Runs the module of a page, and compares what it prints with the comments that say so. `exports` are the lines with
 * which the page sets variables in the shell: no others of them are set.
 */
export async function runTypescript(
  blocks: readonly CodeBlock[],
  place: ExamplePlace,
  exports: readonly string[] = [],
): Promise<void> {
  // The types are removed here: a process that does so itself takes twice as long to start.
  const file = join(place.folder, 'page.js');
  const options = { loader: 'ts', target: 'node24', sourcemap: 'inline' } as const;
  await writeFile(file, (await transform(place.adapt(joinBlocks(blocks)), options)).code);
  const set = new Set(exports.map((line) => /^export (\w+)=/.exec(line)?.[1]));
  const node = [process.execPath, '--enable-source-maps', file];
  const child = spawn('bash', ['-ec', [...exports, 'exec "$@"'].join('\n'), 'bash', ...node], {
    cwd: place.folder,
    env: Object.fromEntries(Object.entries(place.environment).filter(([name]) => !set.has(name))),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: place.timeoutMs,
    killSignal: 'SIGKILL',
  });
  const [[code, signal], output, errors] = await Promise.all([
    once(child, 'exit'),
    text(child.stdout),
    text(child.stderr),
  ]);
  assert.equal(code ?? signal, 0, `the TypeScript of this page failed:\n${output}\n${errors}`);
  const claims = blocks.flatMap((block) =>
    block.code.split('\n').flatMap((line, index) => {
      const claim = printedClaim.exec(line)?.[1];
      return claim === undefined ? [] : [{ claim: place.adapt(claim), line: block.line + index }];
    }),
  );
  const printed = output.split('\n');
  for (const { claim, line } of claims) {
    const at = printed.findIndex((each) => textPattern(claim).test(each));
    assert.ok(at !== -1, `line ${line} says that "${claim}" is printed, but the page printed:\n${output}`);
    printed.splice(0, at + 1);
  }
}

/** Checks the types of all pages at once, with the options that a strict project has. */
export async function checkTypes(pages: ReadonlyMap<string, readonly CodeBlock[]>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'till-docs-types-'));
  try {
    await installPackages(folder);
    for (const [page, blocks] of pages)
      await writeFile(join(folder, `${page.replaceAll('/', '__')}.ts`), joinBlocks(blocks));
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(typescriptOptions));
    const tsc = join(projectFolder, 'node_modules/.bin/tsc');
    // Several threads check the types that files share several times.
    await promisify(execFile)(tsc, ['--singleThreaded'], { cwd: folder }).catch(
      (error: { readonly stdout?: string }) => {
        assert.fail(`the types of the examples are wrong:\n${error.stdout}`);
      },
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const typescriptOptions = {
  compilerOptions: {
    target: 'esnext',
    module: 'nodenext',
    lib: ['esnext'],
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    moduleDetection: 'force',
    noEmit: true,
    skipLibCheck: true,
  },
  include: ['*.ts'],
};
