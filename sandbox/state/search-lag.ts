import type { WireObject } from '../wire/objects.ts';

interface Unindexed {
  /** Search shows `shown` until this time. */
  readonly until: number;
  /** The previous version. Undefined if the object is new. */
  readonly shown: WireObject | undefined;
}

/** The changes that search does not show yet, because the processor's search lags behind its lists. */
export class SearchLag {
  readonly #byId = new Map<string, Unindexed[]>();

  note(id: string, previous: WireObject | undefined, now: number, lagSeconds: number): void {
    if (lagSeconds === 0) return;
    this.#forgetIndexed(now);
    const entry = { until: now + lagSeconds, shown: previous };
    const entries = this.#byId.get(id);
    if (entries === undefined) this.#byId.set(id, [entry]);
    else entries.push(entry);
  }

  /** The version of the object that search shows. Undefined if it shows none. */
  versionOf<T extends WireObject>(value: T, now: number): T | undefined {
    const entry = this.#byId.get(value.id)?.find(({ until }) => until > now);
    // Versions of one object have one type.
    return entry === undefined ? value : (entry.shown as T | undefined);
  }

  /** Whether search shows the current version of every object. */
  isUpToDate(now: number): boolean {
    this.#forgetIndexed(now);
    return this.#byId.size === 0;
  }

  clear(): void {
    this.#byId.clear();
  }

  /** The oldest change comes first in the map, so this stops at the first one that is not indexed yet. */
  #forgetIndexed(now: number): void {
    for (const [id, entries] of this.#byId) {
      if ((entries[0]?.until ?? 0) > now) break;
      const waiting = entries.filter(({ until }) => until > now);
      this.#byId.delete(id);
      if (waiting.length > 0) this.#byId.set(id, waiting);
    }
  }
}
