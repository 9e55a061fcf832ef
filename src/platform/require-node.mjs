import module from 'node:module';
import { fileURLToPath } from 'node:url';

// Runs before anything else and is plain JavaScript, because a Node older than 24 cannot read TypeScript
// and would answer with a stack trace instead of a sentence.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `till needs Node 24 or newer; this is ${process.version}. ` +
      'On Linux (x64, arm64) "npm ci" installs it. On other systems, install it yourself.\n',
  );
  process.exit(1);
}

// Starts after the first find the source without its types, and compiled: half a second less, and the part of Node that
// takes types out is not even loaded. Where the folder cannot be written, nothing is kept and nothing is lost.
module.enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/till', import.meta.url)));
