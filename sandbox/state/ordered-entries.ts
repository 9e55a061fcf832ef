import type { Range } from '../wire/params.ts';

/** An object in a collection. Entries are ordered by time of creation, and by time of insertion within a second. */
export interface Entry<T> {
  value: T;
  readonly sequence: number;
  readonly created: number;
}

export function bounds<T>(
  entries: readonly Entry<T>[],
  created: Range | undefined,
  createdSince = 0,
): { first: number; end: number } {
  const from = Math.max(createdSince, created?.gte ?? 0, created?.gt === undefined ? 0 : created.gt + 1);
  const until = Math.min(
    created?.lt ?? Number.POSITIVE_INFINITY,
    created?.lte === undefined ? Number.POSITIVE_INFINITY : created.lte + 1,
  );
  return {
    first: from === 0 ? 0 : lowerBound(entries, (entry) => entry.created < from),
    end:
      until === Number.POSITIVE_INFINITY
        ? entries.length
        : lowerBound(entries, (entry) => entry.created < until),
  };
}

/** The position of the first entry for which `isBefore` is false. */
export function lowerBound<T>(entries: readonly Entry<T>[], isBefore: (entry: Entry<T>) => boolean): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const entry = entries[middle];
    if (entry !== undefined && isBefore(entry)) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function addTo<T>(index: Map<string, Entry<T>[]>, key: string | null, entry: Entry<T>): void {
  if (key === null) return;
  const entries = index.get(key);
  if (entries === undefined) index.set(key, [entry]);
  else insert(entries, entry);
}

/** In the order of lists: by time of creation, and by time of insertion within a second. */
export function isBefore<T>(a: Entry<T>, b: Entry<T>): boolean {
  return a.created < b.created || (a.created === b.created && a.sequence < b.sequence);
}

export function insert<T>(entries: Entry<T>[], entry: Entry<T>): void {
  const last = entries.at(-1);
  if (last === undefined || isBefore(last, entry)) entries.push(entry);
  else
    entries.splice(
      lowerBound(entries, (other) => isBefore(other, entry)),
      0,
      entry,
    );
}

export function removeFrom<T>(index: Map<string, Entry<T>[]>, key: string | null, entry: Entry<T>): void {
  const entries = key === null ? undefined : index.get(key);
  if (entries === undefined || key === null) return;
  removeEntry(entries, entry);
  if (entries.length === 0) index.delete(key);
}

export function removeEntry<T>(entries: Entry<T>[], entry: Entry<T>): void {
  const at = lowerBound(entries, (other) => isBefore(other, entry));
  if (entries[at] === entry) entries.splice(at, 1);
}
