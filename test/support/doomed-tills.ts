import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Backend } from './backend.ts';
import { programFile } from './bundle.ts';
import { type Client, createClient } from './client.ts';
import { backendEnvironment, startInChild } from './till-in-child.ts';

/** The input of doomed-process.ts for each of its Tills. */
export interface CrashPlan {
  readonly crashAt: string;
  readonly requests: number;
  readonly environment: Readonly<Record<string, string>>;
}

/** A Till, and the requests amid which it dies. */
export interface Doom {
  readonly on: Backend;
  readonly crashAt: string;
  readonly requests: readonly DoomedRequest[];
}

interface DoomedRequest {
  readonly send: (till: Client) => Promise<unknown>;
  /** Whether it gets its response before it reaches the crash point. Most do not. */
  readonly isCompleted?: boolean;
}

/**
 * Starts a Till for each doom, all in one process, because a process costs ten times what a Till costs. The process is
 * killed when all requests of all Tills stand at their crash points. Tills that stop within a transaction need backends
 * of their own, so that none waits for the other's locks. Webhooks go where they went before.
 */
export async function killAmid(dooms: readonly Doom[]): Promise<void> {
  const plans = dooms.map(
    ({ on, crashAt, requests }): CrashPlan => ({
      crashAt,
      requests: requests.length,
      environment: { ...backendEnvironment(on), EVENT_ENDPOINTS_ALLOW_PRIVATE: 'true' },
    }),
  );
  const host = await startInChild({
    environment: { CRASH_PLANS: JSON.stringify(plans) },
    command: [process.execPath, programFile('test/support/doomed-process.ts')],
  });
  for (const { on } of dooms) on.atEnd(() => host.stop('SIGKILL'));
  const exited = once(host.child, 'exit');
  const { urls } = await host.logged('ready');
  assert(Array.isArray(urls));
  const sent = dooms.flatMap(({ crashAt, requests }, index) => {
    const till = createClient({ url: urls[index] });
    return requests.map(async ({ send, isCompleted = false }, position) => {
      const wasCompleted = await send(till).then(
        () => true,
        () => false,
      );
      assert.equal(wasCompleted, isCompleted, `request ${position} at ${crashAt}`);
    });
  });
  await Promise.all(sent);
  const [, signal] = await exited;
  assert.equal(signal, 'SIGKILL');
}
