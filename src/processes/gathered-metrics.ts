import { withDeadline } from '../platform/deadline.ts';
import type { Member } from './member.ts';
import { addEnded, type MetricReport } from './merge-metrics.ts';

/** A busy process responds within milliseconds. Of one that does not, the last report counts. */
const reportTimeoutMs = 1_000;

/** The metrics of all processes, for the one that is scraped. */
export class GatheredMetrics<Facts> {
  readonly #members: () => readonly Member<Facts>[];
  readonly #waiting = new Map<number, () => void>();
  #asked = 0;
  /** What remains of processes that have ended. Ends are added one after the other. */
  #ended: Promise<MetricReport> = Promise.resolve([]);

  constructor(members: () => readonly Member<Facts>[]) {
    this.#members = members;
  }

  /** Sends the metrics of all others to the process that is scraped. */
  async gather(scraped: Member<Facts>, id: number): Promise<void> {
    // Read first: a process that ends meanwhile is one of the others, and must not count twice.
    const ended = this.#ended;
    const others = this.#members().filter((member) => member !== scraped);
    const reports = await Promise.all(others.map((member) => this.#ask(member)));
    scraped.send({ kind: 'reports', id, reports: [...reports, await ended] });
  }

  /** Stores a report that a process has sent, asked or not. */
  receive(member: Member<Facts>, id: number | undefined, report: MetricReport): void {
    member.lastReport = report;
    if (id !== undefined) this.#waiting.get(id)?.();
  }

  /** Keeps what a process that has ended counted, as far as it was reported. */
  keep({ lastReport }: Member<Facts>): void {
    this.#ended = this.#ended.then((ended) => addEnded(ended, lastReport));
  }

  async #ask(member: Member<Facts>): Promise<MetricReport> {
    this.#asked += 1;
    const id = this.#asked;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(id, resolve);
    member.send({ kind: 'report', id });
    try {
      await withDeadline(promise, reportTimeoutMs, `the metrics of process ${member.number}`);
    } catch {
      // Its last report is used.
    } finally {
      this.#waiting.delete(id);
    }
    return member.lastReport;
  }
}
