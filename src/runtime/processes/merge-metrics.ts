import { AggregatorRegistry, type Registry } from 'prom-client';

/** The metrics of one process, as its registry returns them. */
export type MetricReport = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** Types whose values only grow. They still count after the process has ended. */
const countedTypes: readonly string[] = ['counter', 'histogram'];

/**
 * Merges the metrics of several processes: counters are added up, and a gauge declares how it is merged (`aggregator`).
 * Of a gauge that is the same for all, the first report counts.
 */
export function mergeReports(reports: readonly MetricReport[]): Promise<string> {
  return merge(reports).metrics();
}

/**
 * The metrics of ended processes. Without them, the sums would fall when a process ends, and a scraper would conclude
 * that all have restarted.
 */
export async function addEnded(ended: MetricReport, last: MetricReport): Promise<MetricReport> {
  const counted = last.filter(({ type }) => countedTypes.includes(String(type)));
  return merge([ended, counted]).getMetricsAsJSON();
}

function merge(reports: readonly MetricReport[]): Registry {
  // Its types ask for the metrics themselves; it needs what `getMetricsAsJSON` returns.
  return AggregatorRegistry.aggregate(reports as unknown as object[]);
}
