import { median } from './numbers.ts';

const sampleDelayMs = 40;
/** About 0.2 ms of work, so half a percent of one core. */
const repetitions = 5;
const text = JSON.stringify(
  Array.from({ length: 30 }, (_, index) => ({ id: `sub_${index}`, items: [index], status: 'active' })),
);

interface Sample {
  readonly atMs: number;
  readonly workMs: number;
}

/**
 * Watches the speed of the cores by repeating a fixed piece of work. On a shared machine, another machine can run on
 * the same cores (hyper-threading). Then everything takes up to twice the CPU time, and nothing in `/proc` shows it.
 */
export class CoreWatch implements Disposable {
  readonly #samples: Sample[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#sample(), sampleDelayMs);
    this.#timer.unref();
  }

  /** The median time of the work since then, in milliseconds. */
  workMsSince(atMs: number): number {
    this.#sample();
    const first = this.#samples.findLastIndex((sample) => sample.atMs < atMs) + 1;
    return median(this.#samples.slice(first).map(({ workMs }) => workMs));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    const atMs = performance.now();
    for (let repetition = 0; repetition < repetitions; repetition += 1) JSON.stringify(JSON.parse(text));
    this.#samples.push({ atMs, workMs: performance.now() - atMs });
  }
}
