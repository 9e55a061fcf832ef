import { includes, type Position } from './position.ts';

/** The time between two samples of the primary. */
export const sampleDelayMs = 1_000;
/** A sample comes late if the primary is slow. */
const samplesMissedMax = 2;

interface Sample {
  readonly position: Position;
  readonly atMs: number;
}

/**
 * Measures how far a replica is behind, by samples of the primary's position: the lag is the age of the first sample
 * that the replica has not reached. A replica cannot tell by itself. The time of its last transaction says nothing
 * while the primary is idle, and a replica that has lost its connection reports no lag.
 */
export class ReplicaLag {
  readonly #lagMsMax: number;
  /** The samples of one history, oldest first. The first of them may be older than the limit. */
  #samples: Sample[] = [];

  constructor(lagMsMax: number) {
    this.#lagMsMax = lagMsMax;
  }

  /** The primary was at this position. */
  add(position: Position, atMs: number): void {
    const isSameHistory = this.#samples.at(-1)?.position.history === position.history;
    const kept = isSameHistory ? this.#samples : [];
    // The replica must have reached the newest sample that is older than the limit.
    const firstKept = kept.findLastIndex((sample) => atMs - sample.atMs >= this.#lagMsMax);
    this.#samples = [...kept.slice(Math.max(firstKept, 0)), { position, atMs }];
  }

  /** The current history of the primary. Undefined if the primary could not be asked for longer than the limit. */
  history(nowMs: number): number | undefined {
    const newest = this.#samples.at(-1);
    const ageMsMax = this.#lagMsMax + samplesMissedMax * sampleDelayMs;
    return newest === undefined || nowMs - newest.atMs > ageMsMax ? undefined : newest.position.history;
  }

  /** How far a replica at this position is behind. Undefined if it is not known, or older than all samples. */
  lagMs(at: Position, nowMs: number): number | undefined {
    if (this.history(nowMs) !== at.history) return undefined;
    const missing = this.#samples.findIndex(({ position }) => !includes(at, position));
    if (missing === -1) return 0;
    const sample = this.#samples[missing];
    return missing === 0 || sample === undefined ? undefined : nowMs - sample.atMs;
  }
}
