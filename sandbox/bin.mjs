#!/usr/bin/env node
// Plain JavaScript, because an older Node cannot read TypeScript and would answer with a stack trace.
import { readFileSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(`till-sandbox needs Node 24 or newer; this is ${process.version}.\n`);
  process.exit(1);
}

// Later starts find the source compiled, which halves the time they take.
module.enableCompileCache();
const folder = new URL('.', import.meta.url).href;
if (folder.includes('/node_modules/')) readInstalledTypeScript();

// Tests start from nothing each time, so the sandbox writes files only when it is told where.
const isDecided = process.argv.some((argument) => /^--(memory|data-dir|help)\b/.test(argument));
if (!isDecided && process.env['DATA_DIR'] === undefined) process.argv.push('--memory');
await import('./main.ts');

/** Node takes types out of a project's own files, but not of files in node_modules. */
function readInstalledTypeScript() {
  // The first use prints a warning that the function is experimental, which means nothing to the caller.
  const { emitWarning } = process;
  process.emitWarning = () => {};
  module.stripTypeScriptTypes('');
  process.emitWarning = emitWarning;
  module.registerHooks({
    load(url, context, nextLoad) {
      if (!url.startsWith(folder) || !url.endsWith('.ts')) return nextLoad(url, context);
      const source = module.stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8'));
      return { format: 'module', source, shortCircuit: true };
    },
  });
}
