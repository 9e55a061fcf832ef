/** Loaded into Till's process before anything else (`--import`): at SIGUSR2 it collects garbage and logs its memory. */
import { collectGarbage } from '../../support/collect-garbage.ts';

process.on('SIGUSR2', () => {
  collectGarbage();
  process.stdout.write(
    `${JSON.stringify({ level: 'info', msg: 'memory in use', ...process.memoryUsage() })}\n`,
  );
});
