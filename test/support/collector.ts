import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Lifetime } from './backend.ts';

/** A span as a collector receives it, with its attributes as an object. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly isError: boolean;
}

export interface Collector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** The points of the newest export, by the name of their metric. */
  readonly metrics: ReadonlyMap<string, readonly CollectedPoint[]>;
  readonly headers: readonly IncomingHttpHeaders[];
  /** All bodies, as they arrived. */
  readonly text: () => string;
}

/** A point of a counter or a gauge has `asDouble`. Numbers of 64 bits are text in JSON. */
export interface CollectedPoint {
  readonly attributes: readonly WireAttribute[];
  readonly asDouble?: number;
  readonly count?: number | string;
  readonly bucketCounts?: readonly (number | string)[];
  readonly explicitBounds?: readonly number[];
}

/** A collector of OpenTelemetry: OTLP over HTTP, in JSON. */
export async function startCollector(life: Lifetime): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const metrics = new Map<string, readonly CollectedPoint[]>();
  const headers: IncomingHttpHeaders[] = [];
  const texts: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const body = JSON.parse(text);
    headers.push(request.headers);
    texts.push(text);
    if (request.url === '/v1/traces') spans.push(...spansOf(body));
    else if (request.url === '/v1/metrics')
      for (const [name, points] of pointsOf(body)) metrics.set(name, points);
    else return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  life.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, spans, metrics, headers, text: () => texts.join('\n') };
}

interface WireAttribute {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly intValue?: number;
    readonly doubleValue?: number;
  };
}

interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly WireAttribute[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number };
}

interface TraceBody {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

function spansOf({ resourceSpans }: TraceBody): readonly CollectedSpan[] {
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
    .map(({ startTimeUnixNano, endTimeUnixNano, attributes, parentSpanId, status, ...span }) => ({
      ...span,
      parentSpanId: parentSpanId === '' ? undefined : parentSpanId,
      startMs: Number(startTimeUnixNano) / 1e6,
      endMs: Number(endTimeUnixNano) / 1e6,
      attributes: Object.fromEntries(
        attributes.map(({ key, value }) => [
          key,
          value.stringValue ?? value.intValue ?? value.doubleValue ?? '',
        ]),
      ),
      isError: status.code === 2,
    }));
}

interface WireMetric {
  readonly name: string;
  readonly sum?: { readonly dataPoints: readonly CollectedPoint[] };
  readonly gauge?: { readonly dataPoints: readonly CollectedPoint[] };
  readonly histogram?: { readonly dataPoints: readonly CollectedPoint[] };
}

interface MetricBody {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly WireMetric[] }[];
  }[];
}

function pointsOf({
  resourceMetrics,
}: MetricBody): readonly (readonly [string, readonly CollectedPoint[]])[] {
  return resourceMetrics
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
    .map(({ name, sum, gauge, histogram }) => [name, (sum ?? gauge ?? histogram)?.dataPoints ?? []]);
}

/** A trace as text: a line for each span, below the span that it is a part of, with its time from the start. */
export function drawTrace(spans: readonly CollectedSpan[]): string {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const byStart = spans.toSorted((a, b) => a.startMs - b.startMs);
  const beganMs = byStart[0]?.startMs ?? 0;
  const lines: string[] = [];
  const draw = (span: CollectedSpan, depth: number): void => {
    const [fromMs, tookMs] = [span.startMs - beganMs, span.endMs - span.startMs];
    const times = `${fromMs.toFixed(1).padStart(7)} ms ${tookMs.toFixed(1).padStart(7)} ms`;
    lines.push(`${times}  ${'  '.repeat(depth)}${span.name}${detailOf(span)}`);
    for (const child of byStart) if (child.parentSpanId === span.spanId) draw(child, depth + 1);
  };
  for (const span of byStart)
    if (span.parentSpanId === undefined || !ids.has(span.parentSpanId)) draw(span, 0);
  return lines.join('\n');
}

const details = [
  'http.response.status_code',
  'till.processor.outcome',
  'till.event.type',
  'till.events.count',
];

function detailOf({ attributes, links, isError }: CollectedSpan): string {
  const shown = details.flatMap((name) => (attributes[name] === undefined ? [] : [String(attributes[name])]));
  if (isError) shown.push(`error: ${attributes['error.type']}`);
  if (links.length > 0)
    shown.push(`refers to ${links.length === 1 ? 'another span' : `${links.length} spans`}`);
  return shown.length === 0 ? '' : ` (${shown.join(', ')})`;
}
