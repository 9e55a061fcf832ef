import type { Processor } from '../processor/processor.ts';
import type { Start } from '../till/compose-parts.ts';

/** The processor of the settings, for commands that need no database. */
export async function joinProcessorOnly(start: Start): Promise<Processor> {
  const { joinProcessor } = await import('../till/compose-parts.ts');
  const { metricLabels } = await import('../till/compose.ts');
  const { createMetrics } = await import('../platform/metrics.ts');
  return joinProcessor(start, createMetrics(metricLabels)).processor;
}
