import { setTimeout } from 'node:timers/promises';
import { TcpLine } from '../../support/tcp-line.ts';
import type { Front } from './rig.ts';

/** A few looks fit into the second for which a process that is to end serves on. */
const lookDelayMs = 100;
const lookTimeoutMs = 2_000;

/**
 * A simple load balancer: it knows nothing of HTTP but /health, and leads each new connection to the next healthy
 * process.
 */
export async function startBalancer(targets: readonly { readonly url: string }[]): Promise<Front> {
  const healthy = new Set<string>();
  const stopping = new AbortController();
  const look = async (url: string) => {
    const signal = AbortSignal.any([AbortSignal.timeout(lookTimeoutMs), stopping.signal]);
    const isUp = await fetch(`${url}/health`, { signal }).then(
      async (response) => (await response.text()) !== '' && response.ok,
      () => false,
    );
    if (isUp) healthy.add(url);
    else healthy.delete(url);
  };
  const lookOn = async () => {
    while (!stopping.signal.aborted) {
      await Promise.all(targets.map(({ url }) => look(url)));
      await setTimeout(lookDelayMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };
  await Promise.all(targets.map(({ url }) => look(url)));
  const looking = lookOn();

  let turn = 0;
  const line = await TcpLine.open(() => {
    const up = targets.filter(({ url }) => healthy.has(url));
    const target = up[turn++ % up.length];
    return target === undefined ? undefined : Number(new URL(target.url).port);
  });
  return {
    url: line.url,
    close: async () => {
      stopping.abort();
      await Promise.all([looking, line.close()]);
    },
  };
}
