import { useEffect } from 'preact/hooks';

/** What is waited for takes about this long. */
const pollMs = 1_000;

/** Loads again and again while something is not done that no event reports, and once more when it is done. */
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
