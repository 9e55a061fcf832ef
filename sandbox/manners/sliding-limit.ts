/** At most `max` in any `window`, in the unit of the times that it is given. */
export class SlidingLimit {
  readonly #max: number;
  readonly #window: number;
  /** When the last ones were, oldest first. */
  #times: number[] = [];

  constructor({ max, window }: { readonly max: number; readonly window: number }) {
    this.#max = max;
    this.#window = window;
  }

  hasRoom(now: number): boolean {
    const oldest = now - this.#window;
    while (this.#times[0] !== undefined && this.#times[0] <= oldest) this.#times.shift();
    return this.#times.length < this.#max;
  }

  note(now: number): void {
    this.#times.push(now);
  }
}

/** More than the objects of a test. The one that was named first is forgotten first. */
const keysMax = 10_000;

/** A limit of its own for each key. */
export class SlidingLimits {
  readonly #limit: { readonly max: number; readonly window: number };
  readonly #byKey = new Map<string, SlidingLimit>();

  constructor(limit: { readonly max: number; readonly window: number }) {
    this.#limit = limit;
  }

  of(key: string): SlidingLimit {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const [first] = this.#byKey.keys();
    if (first !== undefined && this.#byKey.size >= keysMax) this.#byKey.delete(first);
    const limit = new SlidingLimit(this.#limit);
    this.#byKey.set(key, limit);
    return limit;
  }
}
