import { newId } from '../ids.ts';
import type { WireObject } from '../wire/objects.ts';
import type { Range } from '../wire/params.ts';
import { missing } from '../wire/wire-error.ts';

export interface ListQuery<T> {
  /**
   * Index keys that an object must have, by index. The list is read from the first index with an index key. Without
   * any, it is read from the whole collection.
   */
  readonly within?: Readonly<Record<string, string | undefined>> | undefined;
  readonly created?: Range | undefined;
  readonly createdSince?: number | undefined;
  readonly startingAfter?: string | undefined;
  readonly endingBefore?: string | undefined;
  readonly limit: number;
  readonly where?: ((value: T) => boolean) | undefined;
}

interface Page<T> {
  readonly data: T[];
  readonly hasMore: boolean;
}

type KeysOf<T> = (value: T) => readonly (string | null)[];

/** What distinguishes one kind of object from another. */
export interface Kind<T> {
  /** The plural name in paths, such as `payment_intents`. */
  readonly name: string;
  /** The name in "No such …" errors. */
  readonly noun: string;
  readonly idPrefix: string;
  /** The number of random characters after the prefix. */
  readonly idLength?: number;
  /** The index keys of an object, by index. */
  readonly indexes?: Readonly<Record<string, KeysOf<T>>>;
}

interface Index<T> {
  readonly name: string;
  readonly keysOf: KeysOf<T>;
  /** Created with the first object: most worlds have few kinds of objects. */
  entries?: Map<string, Entry<T>[]>;
}

/**
 * All objects of one kind, in order of their `created` times. This is mostly the order in which they were added: the
 * clock only moves forward, and only test clocks have other times. Lists are read from an ordered index, newest first,
 * and stop when the page is full.
 */
export class Collection<T extends WireObject> {
  readonly name: string;
  readonly noun: string;
  readonly idPrefix: string;
  /** How many entries lists have read so far. Tests use it to tell an index lookup from a scan. */
  visited = 0;
  readonly #byId = new Map<string, Entry<T>>();
  readonly #ordered: Entry<T>[] = [];
  readonly #indexes: readonly Index<T>[];
  readonly #newId: () => string;
  #chosenId: string | null = null;
  #sequence = 0;

  constructor({ name, noun, idPrefix, idLength, indexes = {} }: Kind<T>) {
    this.name = name;
    this.noun = noun;
    this.idPrefix = idPrefix;
    this.#newId = () => newId(idPrefix, idLength);
    this.#indexes = Object.entries(indexes).map(([index, keysOf]) => ({
      name: index,
      keysOf,
    }));
  }

  /** An id for a new object of this kind. */
  newId(): string {
    const chosen = this.#chosenId;
    this.#chosenId = null;
    return chosen ?? this.#newId();
  }

  /** Gives this id to the first object of this kind that the work creates. */
  choosingId<R>(id: string, work: () => R): R {
    this.#chosenId = id;
    try {
      return work();
    } finally {
      this.#chosenId = null;
    }
  }

  get size(): number {
    return this.#byId.size;
  }

  /** The object with this id, unless it was created before `createdSince`. References to an object may be null. */
  get(id: string | null | undefined, createdSince = 0): T | undefined {
    const entry = this.#byId.get(id ?? '');
    return entry === undefined || entry.created < createdSince ? undefined : entry.value;
  }

  /** The same. If there is none, throws the processor's error for the parameter that named it. */
  existing(id: string, param = 'id', createdSince = 0): T {
    const found = this.get(id, createdSince);
    if (found === undefined) throw missing(this.noun, id, param);
    return found;
  }

  *values(): Generator<T> {
    for (const entry of this.#ordered) yield entry.value;
  }

  /** Adds the object or replaces the one with the same id. Returns the replaced object. */
  put(value: T): T | undefined {
    const existing = this.#byId.get(value.id);
    if (existing === undefined) {
      const created = createdAt(value) ?? this.#ordered.at(-1)?.created ?? 0;
      const entry = { value, sequence: this.#sequence++, created };
      this.#byId.set(value.id, entry);
      insert(this.#ordered, entry);
      for (const index of this.#indexes)
        for (const key of index.keysOf(value)) addTo(entriesOf(index), key, entry);
      return undefined;
    }
    const previous = existing.value;
    existing.value = value;
    for (const index of this.#indexes) {
      const before = index.keysOf(previous);
      const after = index.keysOf(value);
      for (const key of before) if (!after.includes(key)) removeFrom(entriesOf(index), key, existing);
      for (const key of after) if (!before.includes(key)) addTo(entriesOf(index), key, existing);
    }
    return previous;
  }

  remove(id: string): void {
    const entry = this.#byId.get(id);
    if (entry === undefined) return;
    removeEntry(this.#ordered, entry);
    this.#forget(entry.value);
  }

  /** Removes and returns the objects created before a time, oldest first, up to the first one that must stay. */
  removeOldest(createdBefore: number, mayRemove: (value: T) => boolean): T[] {
    let count = 0;
    for (const entry of this.#ordered) {
      if (entry.created >= createdBefore || !mayRemove(entry.value)) break;
      count += 1;
    }
    const removed = this.#ordered.splice(0, count);
    for (const { value } of removed) this.#forget(value);
    return removed.map(({ value }) => value);
  }

  /** Removes and returns the oldest objects beyond a number, except those that must stay. */
  removeExcess(max: number, mayRemove: (value: T) => boolean): T[] {
    let excess = this.#ordered.length - max;
    if (excess <= 0) return [];
    const removed: T[] = [];
    for (const { value } of this.#ordered) {
      if (excess === 0) break;
      if (!mayRemove(value)) continue;
      removed.push(value);
      excess -= 1;
    }
    const ids = new Set(removed.map(({ id }) => id));
    const kept = this.#ordered.filter(({ value }) => !ids.has(value.id));
    this.#ordered.length = 0;
    for (const entry of kept) this.#ordered.push(entry);
    for (const value of removed) this.#forget(value);
    return removed;
  }

  clear(): void {
    this.#byId.clear();
    this.#ordered.length = 0;
    for (const index of this.#indexes) index.entries?.clear();
  }

  list(query: ListQuery<T>): Page<T> {
    const [lookup, ...otherLookups] = Object.entries(query.within ?? {}).flatMap(([index, key]) =>
      key === undefined ? [] : [{ index: this.#index(index), key }],
    );
    const entries = lookup === undefined ? this.#ordered : (lookup.index.entries?.get(lookup.key) ?? []);
    const matchesQuery = (value: T): boolean =>
      otherLookups.every(({ index, key }) => index.keysOf(value).includes(key)) &&
      (query.where?.(value) ?? true);
    const { first, end } = bounds(entries, query.created, query.createdSince);
    const matches: T[] = [];
    const take = (entry: Entry<T> | undefined): boolean => {
      this.visited += 1;
      if (entry !== undefined && matchesQuery(entry.value)) matches.push(entry.value);
      // If there is one match more than the page holds, there is another page.
      return matches.length <= query.limit;
    };
    const cursor = this.#byId.get(query.endingBefore ?? query.startingAfter ?? '');
    if (query.endingBefore !== undefined && cursor !== undefined) {
      const next = lowerBound(entries, (entry) => !isBefore(cursor, entry));
      for (let at = Math.max(first, next); at < end; at++) if (!take(entries[at])) break;
      return { data: matches.slice(0, query.limit).reverse(), hasMore: matches.length > query.limit };
    }
    const stop = cursor === undefined ? end : lowerBound(entries, (entry) => isBefore(entry, cursor));
    for (let at = Math.min(end, stop) - 1; at >= first; at--) if (!take(entries[at])) break;
    return { data: matches.slice(0, query.limit), hasMore: matches.length > query.limit };
  }

  hasIndex(name: string): boolean {
    return this.#indexes.some((index) => index.name === name);
  }

  /** All objects under one index key, oldest first. */
  allWithin(index: string, key: string): T[] {
    return (this.#index(index).entries?.get(key) ?? []).map((entry) => entry.value);
  }

  /** Removes the object from everything except the order. */
  #forget(value: T): void {
    const entry = this.#byId.get(value.id);
    if (entry === undefined) return;
    this.#byId.delete(value.id);
    for (const index of this.#indexes)
      for (const key of index.keysOf(value)) removeFrom(entriesOf(index), key, entry);
  }

  #index(name: string): Index<T> {
    const index = this.#indexes.find((candidate) => candidate.name === name);
    if (index === undefined) throw new Error(`${this.name} has no index ${name}`);
    return index;
  }
}

/** Undefined for a deleted customer, whose time is known from its place in the order. */
function createdAt(value: WireObject): number | undefined {
  if ('created' in value && typeof value.created === 'number') return value.created;
  // An invoice item names it `date`.
  return 'date' in value && typeof value.date === 'number' ? value.date : undefined;
}

function entriesOf<T>(index: Index<T>): NonNullable<Index<T>['entries']> {
  index.entries ??= new Map();
  return index.entries;
}

/** An object in a collection. Entries are ordered by time of creation, and by time of insertion within a second. */
interface Entry<T> {
  value: T;
  readonly sequence: number;
  readonly created: number;
}

function bounds<T>(
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
  else insert(entries, entry);
}

/** In the order of lists: by time of creation, and by time of insertion within a second. */
function isBefore<T>(a: Entry<T>, b: Entry<T>): boolean {
  return a.created < b.created || (a.created === b.created && a.sequence < b.sequence);
}

function insert<T>(entries: Entry<T>[], entry: Entry<T>): void {
  const last = entries.at(-1);
  if (last === undefined || isBefore(last, entry)) entries.push(entry);
  else
    entries.splice(
      lowerBound(entries, (other) => isBefore(other, entry)),
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
  const at = lowerBound(entries, (other) => isBefore(other, entry));
  if (entries[at] === entry) entries.splice(at, 1);
}
