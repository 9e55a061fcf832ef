import { useEffect } from 'preact/hooks';
import { isReachable } from '../session.ts';
import { type Outcome, retryDelayMs } from './retry-delay.ts';

/**
 * Loads again by itself after an outage, for as long as the view shows it. Without a connection, it waits for another
 * request to get a response: `watchConnection` asks for one.
 */
export function useRetry(outcome: Outcome | undefined, load: () => void): void {
  useEffect(() => {
    if (outcome?.failure?.isOutage !== true) return undefined;
    if (isReachable.value) return afterDelay(retryDelayMs(outcome, Math.random()), load);
    return isReachable.subscribe((is) => {
      if (is) load();
    });
  }, [outcome, load]);
}

/**
 * Calls it after the delay. In a hidden tab, calls it as soon as the tab is visible. Returns a function that cancels
 * the call.
 */
function afterDelay(delayMs: number, call: () => void): () => void {
  const timer = setTimeout(() => {
    if (document.hidden) document.addEventListener('visibilitychange', call, { once: true });
    else call();
  }, delayMs);
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', call);
  };
}
