import { effect, signal } from '@preact/signals';
import type { TillEvent } from '../../../client/src/index.ts';
import { isSignedIn, till } from '../session.ts';

/** A person cannot read faster. On a busy Till, each tab sends one request for the events of this time. */
const intervalMs = 1_000;
/** The delay after errors that the client does not retry. A server that is down gets few requests from each tab. */
const retryMs = 5_000;

type Listener = (event: TillEvent | 'missed') => void;

/** `live` while changes arrive as they happen. */
export const liveState = signal<'off' | 'connecting' | 'live'>('off');

const listeners = new Set<Listener>();

/** Calls the listener with every change from now on, or with `missed` if some may not have arrived. */
export function onChanges(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Follows the events while a user is signed in and the tab is visible. A browser opens six connections to a host in all
 * its tabs together, so a hidden tab must not keep one.
 */
export function followChanges(): () => void {
  const isVisible = signal(!document.hidden);
  const update = () => {
    isVisible.value = !document.hidden;
  };
  document.addEventListener('visibilitychange', update);
  const stop = effect(() => {
    if (!isSignedIn.value || !isVisible.value) return undefined;
    const stopped = new AbortController();
    void follow(stopped.signal);
    return () => {
      stopped.abort();
      liveState.value = 'off';
    };
  });
  return () => {
    document.removeEventListener('visibilitychange', update);
    stop();
  };
}

async function follow(signal: AbortSignal): Promise<void> {
  const onConnected = (is: boolean) => {
    liveState.value = is ? 'live' : 'connecting';
  };
  while (!signal.aborted) {
    onConnected(false);
    try {
      const after = await till().events.latestCursor({ signal });
      // Pages may have been loaded before this position.
      publish('missed');
      onConnected(true);
      const feed = till().events.follow({ after, signal, intervalMs, onConnected });
      for await (const event of feed) publish(event);
    } catch {
      // Till does not respond, or no longer keeps this position, for example after months without a connection.
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
}

function publish(event: TillEvent | 'missed'): void {
  for (const listener of [...listeners]) listener(event);
}
