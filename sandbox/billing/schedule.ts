import { MinHeap } from '../state/min-heap.ts';

export interface DueItem {
  /** The object's name in the wire API. */
  readonly kind: string;
  readonly id: string;
}

/** A smaller heap is not worth cleaning. */
const cleanAboveItems = 1_000;

/**
 * Items by due time, for one clock. An entry that no longer matches its object's state is obsolete. Obsolete entries
 * are dropped when they come up, and all at once when the heap has doubled, so that objects that are deleted long before
 * they fall due take no memory.
 */
export class Schedule {
  readonly #heap = new MinHeap<DueItem>();
  /** The entries in the heap, so that an object that changes often is not scheduled twice for the same time. */
  readonly #scheduled = new Set<string>();
  readonly #isCurrent: (item: DueItem, at: number) => boolean;
  #cleanAbove = cleanAboveItems;

  constructor(isCurrent: (item: DueItem, at: number) => boolean) {
    this.#isCurrent = isCurrent;
  }

  get size(): number {
    return this.#heap.size;
  }

  /** The earliest due time. */
  get firstAt(): number | undefined {
    return this.#heap.firstAt;
  }

  push(at: number, item: DueItem): void {
    const key = keyOf(item, at);
    if (this.#scheduled.has(key)) return;
    this.#scheduled.add(key);
    this.#heap.push(at, item);
    if (this.#heap.size > this.#cleanAbove) this.#dropObsolete();
  }

  /** Takes the next item that is due by `until`. */
  next(until: number): { readonly at: number; readonly item: DueItem } | undefined {
    while ((this.firstAt ?? Number.POSITIVE_INFINITY) <= until) {
      const next = this.#pop();
      if (next !== undefined && this.#isCurrent(next.item, next.at)) return next;
    }
    return undefined;
  }

  clear(): void {
    this.#heap.clear();
    this.#scheduled.clear();
  }

  #pop(): { readonly at: number; readonly item: DueItem } | undefined {
    const next = this.#heap.pop();
    if (next !== undefined) this.#scheduled.delete(keyOf(next.item, next.at));
    return next;
  }

  #dropObsolete(): void {
    const current: { readonly at: number; readonly item: DueItem }[] = [];
    for (let next = this.#heap.pop(); next !== undefined; next = this.#heap.pop())
      if (this.#isCurrent(next.item, next.at)) current.push(next);
    this.clear();
    for (const { at, item } of current) {
      this.#scheduled.add(keyOf(item, at));
      this.#heap.push(at, item);
    }
    this.#cleanAbove = Math.max(cleanAboveItems, 2 * current.length);
  }
}

function keyOf({ id }: DueItem, at: number): string {
  return `${id} ${at}`;
}
