import { createMetrics } from '#core/platform/metrics.ts';
import { metricLabels } from '#runtime/composition/compose-parts.ts';
import { code, heading, table } from './table.ts';

/** Longer lists of values are described, not listed. */
const valuesMax = 8;

interface DeclaredMetric {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames?: readonly string[];
}

export async function metricsPage(): Promise<string> {
  const { registry } = createMetrics(metricLabels);
  // The library's type for a metric leaves out what every metric has.
  const metrics = registry.getMetricsAsArray() as unknown as readonly DeclaredMetric[];
  const samples = new Map((await registry.getMetricsAsJSON()).map(({ name, values }) => [name, values]));
  registry.clear();
  const rows = (isOwn: boolean) =>
    metrics
      .filter(({ name }) => /^(process|nodejs)_/.test(name) !== isOwn)
      .map(({ name, type, labelNames = [], help }) => [
        code(name),
        type,
        labelNames.map((label) => describeLabel(label, isOwn ? (samples.get(name) ?? []) : [])).join('; '),
        help.replace(/\.$/, ''),
      ]);
  return `${heading('Metrics', 'src/core/platform/metrics.ts')}
\`GET /metrics\` returns every metric in the Prometheus text format, without an API key. Keep it inside your network.
Counters whose labels are known in advance exist from the first scrape, at 0. A histogram with labels has a series for
each combination that has occurred.

## What to alert on

\`deploy/prometheus\` has [rules](../observability.md#alerts) for these and others.

| metric | alert when |
|---|---|
| \`webhook_events_failed_total\` | it grows: an event could not be applied. \`npx till events --state failed\` shows why |
| \`webhook_queue_depth\` | it stays high: events arrive faster than they are applied, or a worker is missing |
| \`mirror_drift_total\` | it grows: webhooks are lost on their way. Check the endpoint at the processor |
| \`event_delivery_oldest_seconds\` | it grows: an event endpoint does not accept events |
| \`http_requests_shed_total\` | it grows: start another process |
| \`processor_queue_refused_total\` | it grows: more calls are needed than the processor allows. Ask it for a higher limit |
| \`rate_limits_shared\` | it is 0 although \`REDIS_URL\` is set: this process cannot reach Redis, and counts rate limits alone |

## Till's own metrics

${table(['metric', 'type', 'labels', 'meaning'], rows(true))}

## Metrics of the process

${table(['metric', 'type', 'labels', 'meaning'], rows(false))}
`;
}

function describeLabel(label: string, values: readonly { readonly labels: object }[]): string {
  const seen = new Set(
    values.flatMap(({ labels }) =>
      Object.entries(labels).flatMap(([key, value]) => (key === label ? [String(value)] : [])),
    ),
  );
  if (seen.size === 0 || seen.size > valuesMax || [...seen].includes('ok')) return code(label);
  return `${code(label)}: ${[...seen].map(code).join(', ')}`;
}
