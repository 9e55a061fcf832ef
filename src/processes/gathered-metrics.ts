import type { Member } from './member.ts';
import { addEnded, type MetricReport } from './merge-metrics.ts';

/** The metrics of all processes, for the one that is scraped. */
export class GatheredMetrics<Facts> {
  /** What remains of processes that have ended. Ends are added one after the other. */
  #ended: Promise<MetricReport> = Promise.resolve([]);

  /** The metrics of these processes and of those that have ended. */
  async gather(others: readonly Member<Facts>[]): Promise<readonly MetricReport[]> {
    // Read first: a process that ends meanwhile is one of the others, and must not count twice.
    const ended = this.#ended;
    // Of a process that does not answer in time, the last report counts.
    await Promise.allSettled(others.map((member) => member.ask({ kind: 'report' })));
    return [...others.map(({ lastReport }) => lastReport), await ended];
  }

  /** Keeps what a process that has ended counted, as far as it was reported. */
  keep({ lastReport }: Member<Facts>): void {
    this.#ended = this.#ended.then((ended) => addEnded(ended, lastReport));
  }
}
