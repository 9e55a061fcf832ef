/**
 * Runs all tests beside loops that use every core: a verdict must not depend on how busy the machine is. The arguments
 * are those of `npm run test:all`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Three for each core of the smallest machine that the tests run on. */
const loopCount = 6;

const loops = Array.from({ length: loopCount }, () =>
  spawn(process.execPath, ['--eval', 'for (;;);'], { stdio: 'ignore' }),
);
const tests = spawn(process.execPath, ['test/check.ts', 'all', ...process.argv.slice(2)], {
  stdio: 'inherit',
});
const stop = () => {
  for (const loop of loops) loop.kill('SIGKILL');
};
process.on('exit', stop);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tests.kill(signal));
const [code] = await once(tests, 'exit');
process.exitCode = typeof code === 'number' ? code : 1;
stop();
