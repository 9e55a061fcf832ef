import {
  type Link,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  type Tracer as SdkTracer,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { type ExportResult, ExportResultCode, parseTraceParent } from '@opentelemetry/core';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { Failure } from '#core/errors.ts';
import { withDeadline } from '#core/platform/deadline.ts';
import type { Logger } from '#core/platform/logger.ts';
import {
  type Span,
  type SpanAttributes,
  type SpanOptions,
  spanAttributeNames,
  type Tracer,
} from '#core/platform/tracing.ts';
import { MetricsOfRegistry, type MetricsSource } from './metrics-of-registry.ts';

/** A collector is nearby. A slow one must not delay spans, because their number in memory is limited. */
const exportTimeoutMs = 2_000;
/** How long a stop waits for the last exports. Shorter than a step of the shutdown may take. */
const stopTimeoutMs = 4_000;
/** Spans in memory. More are dropped: about a second of a busy process, and some megabytes. */
const spansMax = 8_192;

/** Where traces and metrics are sent, and how many. */
export interface TelemetrySettings {
  /** The base address of the collector. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** How many of the traces that begin in Till are recorded. */
  readonly samplePercent: number;
  readonly metricsDelayMs: number;
}

interface TelemetryParts extends MetricsSource {
  readonly version: string;
  readonly logger: Logger;
}

/**
 * Sends traces and metrics to a collector, as OTLP over HTTP in JSON. Only a process with a collector imports this
 * file, because loading the packages takes time and memory.
 */
export class Telemetry {
  readonly tracer: Tracer;
  readonly #traces: TracerProvider;
  readonly #metrics: MeterProvider;

  constructor(settings: TelemetrySettings, { version, logger, ...source }: TelemetryParts) {
    const { headers, serviceName, samplePercent, metricsDelayMs } = settings;
    const resource = resourceFromAttributes({ 'service.name': serviceName, 'service.version': version });
    const base = { headers, timeoutMillis: exportTimeoutMs };
    const urlOf = (signal: string) => `${settings.endpoint.replace(/\/$/, '')}/v1/${signal}`;
    this.#traces = new TracerProvider({
      resource,
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(samplePercent / 100) }),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: logFailures(new OTLPTraceExporter({ ...base, url: urlOf('traces') }), 'traces', logger),
          exportTimeoutMillis: exportTimeoutMs,
          maxQueueSize: spansMax,
        }),
      ],
    });
    this.#metrics = new MeterProvider({
      resource,
      readers: [
        new PeriodicExportingMetricReader({
          exporter: logFailures(
            new OTLPMetricExporter({ ...base, url: urlOf('metrics') }),
            'metrics',
            logger,
          ),
          exportIntervalMillis: metricsDelayMs,
          exportTimeoutMillis: Math.min(exportTimeoutMs, metricsDelayMs),
          metricProducers: [new MetricsOfRegistry(source)],
        }),
      ],
    });
    this.tracer = tracerOf(this.#traces.getTracer('till', version));
  }

  /** Sends the remaining spans and metrics. A collector that is gone must not make an orderly stop fail. */
  async stop(): Promise<void> {
    const ended = Promise.allSettled([this.#traces.shutdown(), this.#metrics.shutdown()]);
    await withDeadline(ended, stopTimeoutMs, 'the last export').catch(() => {});
  }
}

interface Exporter<Data> {
  export(data: Data, done: (result: ExportResult) => void): void;
}

/** Logs when exports begin to fail, and when they work again. Not each failure: there is one every few seconds. */
function logFailures<Data, E extends Exporter<Data>>(exporter: E, signal: string, logger: Logger): E {
  const send = exporter.export.bind(exporter);
  let isFailing = false;
  exporter.export = (data, done) =>
    send(data, (result) => {
      const hasFailed = result.code === ExportResultCode.FAILED;
      if (hasFailed && !isFailing) logger.warn({ signal, err: result.error }, 'telemetry export failed');
      if (!hasFailed && isFailing) logger.info({ signal }, 'telemetry export works again');
      isFailing = hasFailed;
      done(result);
    });
  return exporter;
}

function tracerOf(sdk: SdkTracer): Tracer {
  return {
    start: (name, { parent, ...options } = {}) => {
      const context = parent === undefined ? undefined : contextOf(parent);
      const within = context === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, context);
      return ifSampled(sdk, sdk.startSpan(name, toSdkOptions(options), within));
    },
  };
}

function ifSampled(sdk: SdkTracer, span: SdkSpan): Span | undefined {
  return span.isRecording() ? new RecordedSpan(sdk, span) : undefined;
}

class RecordedSpan implements Span {
  readonly traceparent: string;
  readonly #sdk: SdkTracer;
  readonly #span: SdkSpan;
  #hasEnded = false;

  constructor(sdk: SdkTracer, span: SdkSpan) {
    this.#sdk = sdk;
    this.#span = span;
    const { traceId, spanId } = span.spanContext();
    this.traceparent = `00-${traceId}-${spanId}-01`;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(allowed(attributes));
  }

  link(traceparent: string): void {
    this.#span.addLinks(linksTo([traceparent]));
  }

  start(name: string, options: SpanOptions = {}): Span {
    const within = trace.setSpan(ROOT_CONTEXT, this.#span);
    // The steps of a recorded span are recorded.
    return new RecordedSpan(this.#sdk, this.#sdk.startSpan(name, toSdkOptions(options), within));
  }

  startTrace(name: string, others: readonly Span[]): Span | undefined {
    const links = linksTo(others.map(({ traceparent }) => traceparent));
    return ifSampled(this.#sdk, this.#sdk.startSpan(name, { links }, ROOT_CONTEXT));
  }

  end(error?: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (error !== undefined) {
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
      this.set({ 'error.type': kindOf(error) });
    }
    this.#span.end();
  }
}

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, producer: SpanKind.PRODUCER };

function toSdkOptions({ kind, attributes = {} }: SpanOptions) {
  return { kind: kind === undefined ? SpanKind.INTERNAL : kinds[kind], attributes: allowed(attributes) };
}

/**
 * The compiler already refuses other attributes. This check also covers objects with more attributes than their type
 * declares.
 */
function allowed(attributes: SpanAttributes): SpanAttributes {
  const names = spanAttributeNames.filter((name) => attributes[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, attributes[name]]));
}

function kindOf(error: unknown): string {
  if (error instanceof Failure) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}

/** Undefined for a malformed header, which is ignored as the standard says. */
function contextOf(traceparent: string): SpanContext | undefined {
  const context = parseTraceParent(traceparent);
  return context === null ? undefined : { ...context, isRemote: true };
}

function linksTo(traceparents: readonly string[]): Link[] {
  return traceparents.flatMap((traceparent) => {
    const context = contextOf(traceparent);
    return context === undefined ? [] : [{ context }];
  });
}
