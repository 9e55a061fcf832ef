import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { timeInputToHrTime } from '@opentelemetry/core';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client';

type RegistryMetric = MetricObjectWithValues<MetricValue<string> & { readonly metricName?: string }>;

export interface MetricsSource {
  readonly registry: Registry;
  /** Updates the gauges. */
  readonly measure: () => Promise<void>;
}

/** The metrics of `/metrics`, under the same names, for a collector: they are counted once, in one registry. */
export class MetricsOfRegistry implements MetricProducer {
  readonly #source: MetricsSource;
  readonly #startTime = timeInputToHrTime(new Date());

  constructor(source: MetricsSource) {
    this.#source = source;
  }

  async collect(): Promise<CollectionResult> {
    const { registry, measure } = this.#source;
    // With the database down, the other metrics still count.
    await measure().catch(() => {});
    const found: readonly RegistryMetric[] = await registry.getMetricsAsJSON();
    const times = { startTime: this.#startTime, endTime: timeInputToHrTime(new Date()) };
    const metrics = found.flatMap((metric) => toMetricData(metric, times) ?? []);
    const scopeMetrics = [{ scope: { name: 'till' }, metrics }];
    return { resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors: [] };
  }
}

interface Times {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

/** Undefined for a summary, of which there is none. */
function toMetricData({ name, help, type, values }: RegistryMetric, times: Times): MetricData | undefined {
  const common = {
    descriptor: { name, description: help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const points = () =>
    values.map(({ labels, value }) => ({ ...times, attributes: attributesOf(labels), value }));
  // The library's type says that kinds are numbers; they are texts.
  switch (String(type)) {
    case 'counter':
      return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: points() };
    case 'gauge':
      return { ...common, dataPointType: DataPointType.GAUGE, dataPoints: points() };
    case 'histogram':
      return {
        ...common,
        dataPointType: DataPointType.HISTOGRAM,
        dataPoints: histograms(name, values, times),
      };
    default:
      return undefined;
  }
}

function attributesOf(labels: MetricValue<string>['labels']): Attributes {
  return Object.fromEntries(Object.entries(labels).map(([label, value]) => [label, value ?? '']));
}

/** A histogram of the registry has a line for each bucket, which also counts those below it. */
function histograms(name: string, values: RegistryMetric['values'], times: Times): DataPoint<Histogram>[] {
  interface Point {
    readonly attributes: Attributes;
    readonly value: Histogram;
    /** What the buckets so far count. */
    below: number;
  }
  const byLabels = new Map<string, Point>();
  for (const { labels, value, metricName } of values) {
    const { le, ...attributes } = attributesOf(labels);
    const key = JSON.stringify(attributes);
    const empty: Point = {
      attributes,
      value: { buckets: { boundaries: [], counts: [] }, count: 0 },
      below: 0,
    };
    const point = byLabels.get(key) ?? empty;
    byLabels.set(key, point);
    if (metricName === `${name}_sum`) point.value.sum = value;
    else if (metricName === `${name}_count`) point.value.count = value;
    else {
      if (le !== '+Inf') point.value.buckets.boundaries.push(Number(le));
      point.value.buckets.counts.push(value - point.below);
      point.below = value;
    }
  }
  return [...byLabels.values()].map(({ attributes, value }) => ({ ...times, attributes, value }));
}
