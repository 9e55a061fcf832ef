/** Numbers from 0 up to 1, the same ones for the same seed. */
export type Random = () => number;

/** Mulberry32: small, and random enough for demo data. */
export function createRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class Dice {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** From `from` (inclusive) to `to` (exclusive). */
  between(from: number, to: number): number {
    return from + this.#random() * (to - from);
  }

  /** A whole number from `from` to `to`, both inclusive. */
  whole(from: number, to: number): number {
    return Math.floor(this.between(from, to + 1));
  }

  happens(probability: number): boolean {
    return this.#random() < probability;
  }

  /** One of the values, chosen by weight. */
  pick<Value>(weighted: readonly (readonly [Value, number])[]): Value {
    let left = this.#random() * weighted.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [value, weight] of weighted) {
      left -= weight;
      if (left < 0) return value;
    }
    const last = weighted.at(-1);
    if (last === undefined) throw new Error('there is nothing to pick from');
    return last[0];
  }

  oneOf<Value>(values: readonly Value[]): Value {
    return this.pick(values.map((value) => [value, 1] as const));
  }
}
