/** Loaded into Till's process before anything else (`--import`): SIGUSR2 blocks its event loop for BLOCK_MS. */
process.on('SIGUSR2', () => {
  process.stdout.write(`${JSON.stringify({ level: 'info', msg: 'the event loop is blocked' })}\n`);
  const blockMs = Number(process.env['BLOCK_MS']);
  for (const startedAtMs = performance.now(); performance.now() - startedAtMs < blockMs; );
});
