import { useRef, useState } from 'preact/hooks';
import { failureOf } from '../../api/failure.ts';
import { notify } from '../../parts/notices.tsx';

/** Runs one control at a time: a second click while one runs does nothing. */
export function useControl(): {
  readonly isBusy: boolean;
  readonly run: (control: () => Promise<unknown>, done: string) => Promise<void>;
} {
  const [isBusy, setBusy] = useState(false);
  const running = useRef(false);
  const run = async (control: () => Promise<unknown>, done: string) => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    try {
      await control();
      notify(done);
    } catch (error) {
      const { title, detail } = failureOf(error);
      notify(`${title}: ${detail}`);
    } finally {
      running.current = false;
      setBusy(false);
    }
  };
  return { isBusy, run };
}
