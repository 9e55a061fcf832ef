import { useEffect } from 'preact/hooks';

/** About the duration of the awaited work. */
const pollMs = 1_000;

/** Polls while work is in progress that sends no event, and loads once more when it is done. */
export function useReloadWhile(isWaiting: boolean, reload: () => void): void {
  useEffect(() => {
    if (!isWaiting) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, pollMs);
    return () => {
      clearInterval(timer);
      reload();
    };
  }, [isWaiting, reload]);
}
