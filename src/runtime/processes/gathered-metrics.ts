import type { Member } from './member.ts';
import { addEnded, type MetricReport } from './merge-metrics.ts';

/** The metrics of all processes, for the one that is scraped. */
export class GatheredMetrics<Facts> {
  /** The metrics of ended processes. Ends are added one after the other. */
  #ended: Promise<MetricReport> = Promise.resolve([]);

  /** The metrics of these processes and of those that have ended. */
  async gather(others: readonly Member<Facts>[]): Promise<readonly MetricReport[]> {
    // Read first, because a process that ends meanwhile must not count twice.
    const ended = this.#ended;
    // Of a process that does not answer in time, the last report counts.
    await Promise.allSettled(others.map((member) => member.ask({ kind: 'report' })));
    return [...others.map(({ lastReport }) => lastReport), await ended];
  }

  /** Keeps the counts of an ended process, as far as it reported them. */
  keep({ lastReport }: Member<Facts>): void {
    this.#ended = this.#ended.then((ended) => addEnded(ended, lastReport));
  }
}
