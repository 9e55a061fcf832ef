#!/usr/bin/env node
// Plain JavaScript, because an older Node cannot read TypeScript and would print a stack trace.
// npx remembers the place of this file for each checkout, so it does not move.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { whenNpmEnds } from '../runtime/npm-parent.mjs';

const nodeMajorMin = 24;
/** The signals that end or reload a service. */
const forwardedSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

if (Number(process.versions.node.split('.')[0]) < nodeMajorMin) runWithInstalledNode();
else {
  // Later starts find the source compiled, which halves the time they take.
  module.enableCompileCache();
  await import('./cli.ts');
}

/** Runs this file again, with the Node 24 that is installed beside the other packages. Sets the exit code. */
function runWithInstalledNode() {
  const node = findInstalledNode();
  if (node === undefined) {
    process.stderr.write(
      `till needs Node ${nodeMajorMin} or newer; this is ${process.version}. Install it from https://nodejs.org. ` +
        'In a checkout of Till on Linux (x64, arm64), "npm ci" installs it.\n',
    );
    process.exit(1);
  }
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  let isEnding = false;
  const end = (signal) => {
    isEnding = true;
    child.kill(signal);
  };
  for (const signal of forwardedSignals) process.on(signal, end);
  whenNpmEnds(() => {
    // A second signal would end the child at once.
    if (!isEnding) end('SIGTERM');
  });
  child.on('error', (error) => {
    process.stderr.write(`till: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    process.exit(signal === null ? (code ?? 1) : 128 + constants.signals[signal]);
  });
}

function findInstalledNode() {
  try {
    const manifest = module
      .createRequire(import.meta.url)
      .resolve(`node-${process.platform}-${process.arch}/package.json`);
    const node = manifest.replace(/package\.json$/, 'bin/node');
    return existsSync(node) ? node : undefined;
  } catch {
    return undefined;
  }
}
