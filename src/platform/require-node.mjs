// Runs before anything else and is plain JavaScript, because a Node older than 24 cannot read TypeScript
// and would answer with a stack trace instead of a sentence.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `till needs Node 24 or newer; this is ${process.version}. On Linux (x64, arm64) "npm ci" brings it along; elsewhere, please install it.\n`,
  );
  process.exit(1);
}
