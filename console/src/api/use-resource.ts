import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, toApiError } from './api-error.ts';
import { onChanges } from './live.ts';
import { get, isReachable, type Query, withQuery } from './request.ts';
import type { TillEvent } from './types.ts';

/** A burst of changes is one reload: a person cannot read faster. */
const reloadIntervalMs = 1_000;

export interface Resource<T> {
  /** What was loaded last. Stays while it is loaded again. */
  readonly value: T | undefined;
  /** Why the last load failed. Undefined after a success. */
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

interface ResourceOptions<T> {
  readonly query?: Query;
  /** Loads the URL in another way than with one GET. */
  readonly load?: (url: string, signal: AbortSignal) => Promise<T>;
  /** Which changes make the resource load again. None by default. */
  readonly reloadOn?: (event: TillEvent) => boolean;
}

interface Loaded<T> {
  readonly url: string;
  readonly value?: T | undefined;
  readonly error?: ApiError | undefined;
}

/**
 * The load in progress. A reload waits for its end: if it started over, changes that come faster than responses would keep
 * it from ever ending.
 */
interface Progress {
  isLoading: boolean;
  /** Whether to load again at its end. */
  isOutdated: boolean;
}

/** Loads a path of the API, and again when it changes. Null: nothing is loaded. */
export function useResource<T>(path: string | null, options: ResourceOptions<T> = {}): Resource<T> {
  const url = path === null ? null : withQuery(path, options.query);
  const [loaded, setLoaded] = useState<Loaded<T>>({ url: '' });
  const [loading, setLoading] = useState(0);
  const [round, setRound] = useState(0);
  const progress = useRef<Progress>({ isLoading: false, isOutdated: false });
  const reload = useCallback(() => {
    if (progress.current.isLoading) progress.current.isOutdated = true;
    else setRound((count) => count + 1);
  }, []);

  // `round` starts another load of the same URL.
  useEffect(() => {
    if (url === null) return undefined;
    const ended = new AbortController();
    const own = { isLoading: true, isOutdated: false };
    progress.current = own;
    setLoading((count) => count + 1);
    const { load = (from, signal) => get<T>(from, {}, signal) } = options;
    load(url, ended.signal)
      .then(
        (value) => setLoaded({ url, value }),
        (error: unknown) => {
          if (ended.signal.aborted) return;
          setLoaded((before) => ({
            url,
            value: before.url === url ? before.value : undefined,
            error: toApiError(error),
          }));
        },
      )
      .finally(() => {
        setLoading((count) => count - 1);
        own.isLoading = false;
        if (own.isOutdated && !ended.signal.aborted) setRound((count) => count + 1);
      });
    return () => ended.abort();
  }, [url, round]);

  useReloadOn(options.reloadOn, reload);
  useReloadOnRecovery(loaded.error, reload);
  const isCurrent = loaded.url === url;
  return {
    value: isCurrent ? loaded.value : undefined,
    error: isCurrent ? loaded.error : undefined,
    isLoading: loading > 0 || !isCurrent,
    reload,
  };
}

function useReloadOn(reloadOn: ResourceOptions<unknown>['reloadOn'], reload: () => void): void {
  const matches = useRef(reloadOn);
  matches.current = reloadOn;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lastMs = 0;
    const stop = onChanges((events) => {
      const test = matches.current;
      if (test === undefined || timer !== undefined) return;
      if (events !== 'missed' && !events.some(test)) return;
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

/** What got no response is loaded again as soon as another request gets one. */
function useReloadOnRecovery(error: ApiError | undefined, reload: () => void): void {
  useEffect(() => {
    if (error?.status !== 0) return undefined;
    return isReachable.subscribe((is) => {
      if (is) reload();
    });
  }, [error, reload]);
}
