import type { TillEvent } from '@till/client';
import type { RefObject } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureOf } from './failure.ts';
import { livePosition, onChanges } from './live.ts';
import { useRetry } from './use-retry.ts';

/** A burst of changes is one reload: a person cannot read faster. */
const reloadIntervalMs = 1_000;

export interface Resource<T> {
  /** The last loaded value. Stays during a reload. */
  readonly value: T | undefined;
  /** Why the last load failed. Undefined after a success. */
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Which changes make a resource load again. */
type ReloadOn = (event: TillEvent) => boolean;

interface Loaded<T> {
  /** The inputs of the load. */
  readonly of: string;
  readonly value?: T | undefined;
  readonly failure?: Failure | undefined;
  /** How many loads failed one after the other. */
  readonly failures: number;
}

/**
 * The load in progress. A reload waits for its end: if every change restarted the load, changes that arrive faster than
 * responses would keep it from ending.
 */
interface Progress {
  isLoading: boolean;
  /** The position of the changes before the load. It is read before the load begins. */
  position: number;
  /** Whether to load again at its end. */
  isOutdated: boolean;
}

/**
 * Loads from the API, again when the inputs of `load` change, and again after changes that `reloadOn` selects. With
 * null as inputs nothing is loaded.
 */
export function useResource<T>(
  load: (options: { readonly signal: AbortSignal }) => Promise<T>,
  inputs: readonly unknown[] | null,
  reloadOn?: ReloadOn,
): Resource<T> {
  const of = inputs === null ? null : JSON.stringify(inputs);
  const [loaded, setLoaded] = useState<Loaded<T>>({ of: '', failures: 0 });
  const [loading, setLoading] = useState(0);
  const [round, setRound] = useState(0);
  const progress = useRef<Progress>({ isLoading: false, position: 0, isOutdated: false });
  const reload = useCallback(() => {
    if (progress.current.isLoading) progress.current.isOutdated = true;
    else setRound((count) => count + 1);
  }, []);

  // `round` starts another load with the same inputs.
  useEffect(() => {
    if (of === null) return undefined;
    const ended = new AbortController();
    const own = { isLoading: true, position: Number.POSITIVE_INFINITY, isOutdated: false };
    progress.current = own;
    setLoading((count) => count + 1);
    // After a sign-out `load` throws at once.
    const start = async () => {
      if (reloadOn !== undefined) own.position = await livePosition();
      ended.signal.throwIfAborted();
      return load({ signal: ended.signal });
    };
    start()
      .then(
        (value) => setLoaded({ of, value, failures: 0 }),
        (error: unknown) => {
          if (ended.signal.aborted) return;
          setLoaded((before) => ({
            of,
            value: before.of === of ? before.value : undefined,
            failure: failureOf(error),
            failures: before.of === of ? before.failures + 1 : 1,
          }));
        },
      )
      .finally(() => {
        setLoading((count) => count - 1);
        own.isLoading = false;
        if (own.isOutdated && !ended.signal.aborted) setRound((count) => count + 1);
      });
    return () => ended.abort();
  }, [of, round]);

  useReloadOn(reloadOn, reload, progress);
  const isCurrent = loaded.of === of;
  useRetry(isCurrent ? loaded : undefined, reload);
  return {
    value: isCurrent ? loaded.value : undefined,
    failure: isCurrent ? loaded.failure : undefined,
    isLoading: loading > 0 || !isCurrent,
    reload,
  };
}

function useReloadOn(
  reloadOn: ReloadOn | undefined,
  reload: () => void,
  progress: RefObject<Progress>,
): void {
  const matches = useRef(reloadOn);
  matches.current = reloadOn;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lastMs = 0;
    const stop = onChanges((change) => {
      const test = matches.current;
      if (test === undefined || timer !== undefined) return;
      const isNews =
        'missedBefore' in change ? (progress.current?.position ?? 0) < change.missedBefore : test(change);
      if (!isNews) return;
      timer = setTimeout(
        () => {
          timer = undefined;
          lastMs = Date.now();
          reload();
        },
        Math.max(0, lastMs + reloadIntervalMs - Date.now()),
      );
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [reload]);
}
