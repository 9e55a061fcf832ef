// Plain JavaScript, because an older Node cannot read TypeScript and would print a stack trace.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const nodeMajorMin = 24;
/** The signals that end or reload a service. */
const forwardedSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Runs the TypeScript program of a bin: with the Node that runs the bin, or with the Node 24 that was installed with the
 * packages. Sets the exit code of the process.
 *
 * @param {{ name: string, bin: string, program: string, root: string }} launch `name` is shown in messages; `bin`,
 *   `program` and `root`, the folder of the package, are URLs
 */
export async function launch({ name, bin, program, root }) {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < nodeMajorMin) return runWithInstalledNode(name, fileURLToPath(bin));
  // Later starts find the source compiled, which halves the time they take.
  module.enableCompileCache();
  if (root.includes('/node_modules/')) readInstalledTypeScript(root);
  await import(program);
}

/** @param {string} name @param {string} bin */
function runWithInstalledNode(name, bin) {
  const node = findInstalledNode(bin);
  if (node === undefined) {
    process.stderr.write(
      `${name} needs Node ${nodeMajorMin} or newer; this is ${process.version}. ` +
        'On Linux (x64, arm64) "npm ci" installs it. On other systems, install it yourself.\n',
    );
    process.exit(1);
  }
  const child = spawn(node, [bin, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of forwardedSignals) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`${name}: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    process.exit(signal === null ? (code ?? 1) : 128 + constants.signals[signal]);
  });
}

/** @param {string} bin */
function findInstalledNode(bin) {
  try {
    const manifest = module
      .createRequire(bin)
      .resolve(`node-${process.platform}-${process.arch}/package.json`);
    const node = manifest.replace(/package\.json$/, 'bin/node');
    return existsSync(node) ? node : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Node takes types out of a project's own files, but not of files in node_modules.
 *
 * @param {string} root
 */
function readInstalledTypeScript(root) {
  // The first use prints a warning that the function is experimental, which does not help the user.
  const { emitWarning } = process;
  process.emitWarning = () => {};
  module.stripTypeScriptTypes('');
  process.emitWarning = emitWarning;
  module.registerHooks({
    load(url, context, nextLoad) {
      if (!url.startsWith(root) || !url.endsWith('.ts')) return nextLoad(url, context);
      const source = module.stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8'));
      return { format: 'module', source, shortCircuit: true };
    },
  });
}
