import type { WireObject } from '../wire/objects.ts';
import type { Range } from '../wire/params.ts';

interface Entry<T> {
  value: T;
  readonly sequence: number;
  readonly created: number;
}

export interface ListQuery<T> {
  /** The index to read, by name, and the key to read in it; without it, everything. */
  readonly within?: { readonly index: string; readonly key: string } | undefined;
  readonly created?: Range | undefined;
  readonly startingAfter?: string | undefined;
  readonly endingBefore?: string | undefined;
  readonly limit: number;
  readonly where?: ((value: T) => boolean) | undefined;
}

export interface Page<T> {
  readonly data: T[];
  readonly hasMore: boolean;
}

export type Indexes<T> = Readonly<Record<string, (value: T) => readonly (string | null)[]>>;

/**
 * All objects of one kind, in the order of their creation, which is also the order of their `created` times because
 * the clock only moves forward. Lists are read from an ordered index, newest first, and stop when the page is full.
 */
export class Collection<T extends WireObject> {
  readonly name: string;
  /** How many entries lists have looked at so far, so that a test can tell an index from a scan. */
  visited = 0;
  readonly #byId = new Map<string, Entry<T>>();
  readonly #ordered: Entry<T>[] = [];
  readonly #indexes: {
    readonly keysOf: Indexes<T>[string];
    readonly entries: Map<string, Entry<T>[]>;
    readonly name: string;
  }[];
  #sequence = 0;

  constructor(name: string, indexes: Indexes<T> = {}) {
    this.name = name;
    this.#indexes = Object.entries(indexes).map(([index, keysOf]) => ({
      name: index,
      keysOf,
      entries: new Map(),
    }));
  }

  get size(): number {
    return this.#byId.size;
  }

  get(id: string): T | undefined {
    return this.#byId.get(id)?.value;
  }

  *values(): Generator<T> {
    for (const entry of this.#ordered) yield entry.value;
  }

  /** Adds the object, or replaces the one with its id, and returns what was there before. */
  put(value: T): T | undefined {
    const existing = this.#byId.get(value.id);
    if (existing === undefined) {
      // A deleted customer no longer says when it was created; its place in the order does.
      const created =
        'created' in value && typeof value.created === 'number'
          ? value.created
          : (this.#ordered.at(-1)?.created ?? 0);
      const entry = { value, sequence: this.#sequence++, created };
      this.#byId.set(value.id, entry);
      this.#ordered.push(entry);
      for (const index of this.#indexes)
        for (const key of index.keysOf(value)) addTo(index.entries, key, entry);
      return undefined;
    }
    const previous = existing.value;
    existing.value = value;
    for (const index of this.#indexes) {
      const before = index.keysOf(previous);
      const after = index.keysOf(value);
      for (const key of before) if (!after.includes(key)) removeFrom(index.entries, key, existing);
      for (const key of after) if (!before.includes(key)) addTo(index.entries, key, existing);
    }
    return previous;
  }

  remove(id: string): void {
    const entry = this.#byId.get(id);
    if (entry === undefined) return;
    this.#byId.delete(id);
    removeEntry(this.#ordered, entry);
    for (const index of this.#indexes)
      for (const key of index.keysOf(entry.value)) removeFrom(index.entries, key, entry);
  }

  /** Drops and returns the oldest that were created before a time, up to the first that has to stay. */
  removeOldest(createdBefore: number, mayGo: (value: T) => boolean): T[] {
    let count = 0;
    for (const entry of this.#ordered) {
      if (entry.created >= createdBefore || !mayGo(entry.value)) break;
      count += 1;
    }
    const removed = this.#ordered.splice(0, count);
    for (const entry of removed) {
      this.#byId.delete(entry.value.id);
      for (const index of this.#indexes)
        for (const key of index.keysOf(entry.value)) removeFrom(index.entries, key, entry);
    }
    return removed.map(({ value }) => value);
  }

  clear(): void {
    this.#byId.clear();
    this.#ordered.length = 0;
    for (const index of this.#indexes) index.entries.clear();
  }

  list(query: ListQuery<T>): Page<T> {
    const entries = this.#entriesOf(query.within);
    const { first, end } = bounds(entries, query.created);
    const matches: T[] = [];
    const take = (entry: Entry<T> | undefined): boolean => {
      this.visited += 1;
      if (entry !== undefined && (query.where?.(entry.value) ?? true)) matches.push(entry.value);
      // One more than the page holds tells whether there is a next page.
      return matches.length <= query.limit;
    };
    const cursor = this.#byId.get(query.endingBefore ?? query.startingAfter ?? '');
    if (query.endingBefore !== undefined && cursor !== undefined) {
      const next = lowerBound(entries, ({ sequence }) => sequence <= cursor.sequence);
      for (let at = Math.max(first, next); at < end; at++) if (!take(entries[at])) break;
      return { data: matches.slice(0, query.limit).reverse(), hasMore: matches.length > query.limit };
    }
    const stop =
      cursor === undefined ? end : lowerBound(entries, ({ sequence }) => sequence < cursor.sequence);
    for (let at = Math.min(end, stop) - 1; at >= first; at--) if (!take(entries[at])) break;
    return { data: matches.slice(0, query.limit), hasMore: matches.length > query.limit };
  }

  /** Everything under one key of an index, oldest first. */
  allWithin(index: string, key: string): T[] {
    return this.#entriesOf({ index, key }).map((entry) => entry.value);
  }

  #entriesOf(within: ListQuery<T>['within']): readonly Entry<T>[] {
    if (within === undefined) return this.#ordered;
    const index = this.#indexes.find(({ name }) => name === within.index);
    if (index === undefined) throw new Error(`${this.name} has no index ${within.index}`);
    return index.entries.get(within.key) ?? [];
  }
}

function bounds<T>(entries: readonly Entry<T>[], created: Range | undefined): { first: number; end: number } {
  const from = Math.max(created?.gte ?? 0, created?.gt === undefined ? 0 : created.gt + 1);
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

/** The position of the first entry that does not come before. */
function lowerBound<T>(entries: readonly Entry<T>[], isBefore: (entry: Entry<T>) => boolean): number {
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

function addTo<T>(index: Map<string, Entry<T>[]>, key: string | null, entry: Entry<T>): void {
  if (key === null) return;
  const entries = index.get(key);
  if (entries === undefined) index.set(key, [entry]);
  else
    entries.splice(
      lowerBound(entries, (other) => other.sequence < entry.sequence),
      0,
      entry,
    );
}

function removeFrom<T>(index: Map<string, Entry<T>[]>, key: string | null, entry: Entry<T>): void {
  const entries = key === null ? undefined : index.get(key);
  if (entries === undefined || key === null) return;
  removeEntry(entries, entry);
  if (entries.length === 0) index.delete(key);
}

function removeEntry<T>(entries: Entry<T>[], entry: Entry<T>): void {
  const at = lowerBound(entries, (other) => other.sequence < entry.sequence);
  if (entries[at] === entry) entries.splice(at, 1);
}
