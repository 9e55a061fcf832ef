import type { SearchResult } from '@till/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Failure } from '../api/failure.ts';
import { useResource } from '../api/use-resource.ts';
import { till } from '../session.ts';

/** Less than a person notices, and more than the time between two keys of a fast typist. */
const pauseMs = 150;

export interface SearchState {
  /** The last results, kept while the next ones load. */
  readonly results: readonly SearchResult[];
  /** Whether the results are those of the text as it is now. */
  readonly isCurrent: boolean;
  readonly failure: Failure | undefined;
  readonly retry: () => void;
}

/** Searches for a text when it has not changed for a moment. Responses for earlier texts are dropped. */
export function useSearch(text: string): SearchState {
  const wanted = text.trim();
  const settled = useSettled(wanted);
  const { value, failure, reload } = useResource(
    (options) => till().search(settled, options),
    settled === '' ? null : [settled],
  );
  const last = useRef<readonly SearchResult[]>([]);
  if (value !== undefined) last.current = value;
  if (settled === '') last.current = [];
  const isSettled = wanted === settled;
  return {
    results: last.current,
    isCurrent: isSettled && (wanted === '' || value !== undefined),
    failure: isSettled ? failure : undefined,
    retry: reload,
  };
}

/** The value after it has not changed for a moment. An empty one counts at once. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), value === '' ? 0 : pauseMs);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
