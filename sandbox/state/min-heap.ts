/** A priority queue by due time. Items with the same due time come out in the order in which they were pushed. */
export class MinHeap<T> {
  readonly #entries: { readonly at: number; readonly order: number; readonly item: T }[] = [];
  #pushed = 0;

  get size(): number {
    return this.#entries.length;
  }

  /** The earliest due time. */
  get firstAt(): number | undefined {
    return this.#entries[0]?.at;
  }

  push(at: number, item: T): void {
    const entries = this.#entries;
    entries.push({ at, order: this.#pushed++, item });
    let index = entries.length - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#isBefore(index, parent)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  pop(): { readonly at: number; readonly item: T } | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (first === undefined || last === undefined || entries.length === 0) return first;
    entries[0] = last;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      let smallest = index;
      if (left < entries.length && this.#isBefore(left, smallest)) smallest = left;
      if (right < entries.length && this.#isBefore(right, smallest)) smallest = right;
      if (smallest === index) return first;
      this.#swap(index, smallest);
      index = smallest;
    }
  }

  clear(): void {
    this.#entries.length = 0;
  }

  #isBefore(a: number, b: number): boolean {
    const first = this.#entries[a];
    const second = this.#entries[b];
    if (first === undefined || second === undefined) return false;
    return first.at < second.at || (first.at === second.at && first.order < second.order);
  }

  #swap(a: number, b: number): void {
    const first = this.#entries[a];
    const second = this.#entries[b];
    if (first === undefined || second === undefined) return;
    this.#entries[a] = second;
    this.#entries[b] = first;
  }
}
