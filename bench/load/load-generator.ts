import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FromGenerator, Job, JobResult, ToGenerator } from './job.ts';

const program = fileURLToPath(new URL('generator.ts', import.meta.url));

export interface LoadGenerator extends AsyncDisposable {
  /** Creates the requests and opens the connections. The returned function starts the measurement. */
  prepare(job: Job): Promise<() => Promise<JobResult>>;
}

export function startLoadGenerator(): LoadGenerator {
  const child = fork(program, { execArgv: [] });
  return {
    prepare: async (job) => {
      await request(child, { prepare: job });
      return async () => {
        const reply = await request(child, { run: true });
        if (!('result' in reply)) throw new Error('the load generator returned no result');
        return reply.result;
      };
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function request(child: ChildProcess, message: ToGenerator): Promise<FromGenerator> {
  const { promise, resolve, reject } = Promise.withResolvers<FromGenerator>();
  const onExit = () => reject(new Error('the load generator ended'));
  child.once('message', resolve);
  child.once('exit', onExit);
  child.send(message);
  try {
    const reply = await promise;
    if ('error' in reply) throw new Error(reply.error);
    return reply;
  } finally {
    child.off('message', resolve);
    child.off('exit', onExit);
  }
}
