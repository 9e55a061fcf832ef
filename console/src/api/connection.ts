import { effect } from '@preact/signals';
import { isReachable, isSignedOut, till } from '../session.ts';

/** Short enough for a waiting user, and few requests for a server that is restarting. */
const askIntervalMs = 5_000;

/** After a request got no response, polls until there is one, so that pages continue by themselves. */
export function watchConnection(): () => void {
  return effect(() => {
    if (isReachable.value || isSignedOut.value) return undefined;
    // Any response will do.
    const ask = () =>
      void till()
        .apiKeys.current()
        .catch(() => {});
    const timer = setInterval(() => {
      if (!document.hidden) ask();
    }, askIntervalMs);
    window.addEventListener('online', ask);
    return () => {
      clearInterval(timer);
      window.removeEventListener('online', ask);
    };
  });
}
