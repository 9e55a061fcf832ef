import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FromGenerator, Job, JobResult, ToGenerator } from './job.ts';

const program = fileURLToPath(new URL('generator.ts', import.meta.url));

export interface LoadGenerator extends AsyncDisposable {
  /** Makes the requests and opens the connections; what it returns starts the clock. */
  prepare(job: Job): Promise<() => Promise<JobResult>>;
}

export function startLoadGenerator(): LoadGenerator {
  const child = fork(program, { execArgv: [] });
  return {
    prepare: async (job) => {
      await ask(child, { prepare: job });
      return async () => {
        const answer = await ask(child, { run: true });
        if (!('result' in answer)) throw new Error('the load generator gave no result');
        return answer.result;
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

async function ask(child: ChildProcess, message: ToGenerator): Promise<FromGenerator> {
  const { promise, resolve, reject } = Promise.withResolvers<FromGenerator>();
  const onExit = () => reject(new Error('the load generator ended'));
  child.once('message', resolve);
  child.once('exit', onExit);
  child.send(message);
  try {
    const answer = await promise;
    if ('error' in answer) throw new Error(answer.error);
    return answer;
  } finally {
    child.off('message', resolve);
    child.off('exit', onExit);
  }
}
