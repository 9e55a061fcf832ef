import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Every attribute that a span can have. Values are ids, numbers and names that the code chooses: no personal data, no
 * secrets, and nothing that a caller wrote, except the request id, which is restricted to letters and digits.
 */
export const spanAttributeNames = [
  'http.request.method',
  'http.route',
  'http.response.status_code',
  'db.system.name',
  'db.query.summary',
  'error.type',
  'till.batch.size',
  'till.delivery.attempt',
  'till.endpoint.id',
  'till.event.id',
  'till.event.type',
  'till.events.count',
  'till.processor.outcome',
  'till.request.id',
] as const;

export type SpanAttributes = { readonly [Name in (typeof spanAttributeNames)[number]]?: string | number };

export interface SpanOptions {
  readonly kind?: 'server' | 'client' | 'producer' | undefined;
  readonly attributes?: SpanAttributes | undefined;
}

/** A step of a trace that is recorded. */
export interface Span {
  /** Its ids, in the form of the W3C header. */
  readonly traceparent: string;
  readonly hasEnded: boolean;
  set(attributes: SpanAttributes): void;
  /** Refers to a span of another trace, by its `traceparent`. */
  link(traceparent: string): void;
  /** Starts a step of this one. */
  start(name: string, options?: SpanOptions): Span;
  /** Starts a trace that refers to these spans. Undefined if the trace is not sampled. */
  startTrace(name: string, links: readonly Span[]): Span | undefined;
  /** Only the kind of an error is recorded, because its message may contain data. */
  end(error?: unknown): void;
}

export interface Tracer {
  /**
   * Starts a trace, or continues the one of `parent`, in the form of the W3C header. Undefined if it is not sampled:
   * then nothing below it costs anything.
   */
  start(name: string, options?: SpanOptions & { readonly parent?: string | undefined }): Span | undefined;
}

/** Follows a span through every await. The mark lets a bundler leave it out. */
const spans = /* @__PURE__ */ new AsyncLocalStorage<Span | undefined>();

/** The span of the work that calls this. Undefined if tracing is off, and in work that goes on after its request. */
export function currentSpan(): Span | undefined {
  const span = spans.getStore();
  return span?.hasEnded === true ? undefined : span;
}

/** Everything that `work` starts belongs to this span. Undefined: to none. */
export function runInSpan<Result>(span: Span | undefined, work: () => Result): Result {
  return span === spans.getStore() ? work() : spans.run(span, work);
}

/** Runs `work` as a step of the current span, if there is one. */
export function inSpan<Result>(
  name: string,
  work: () => Promise<Result>,
  options?: SpanOptions,
): Promise<Result> {
  const parent = currentSpan();
  return parent === undefined ? work() : endAfter(parent.start(name, options), work);
}

/** Runs `work` in this span, and ends the span with it. */
export async function endAfter<Result>(span: Span | undefined, work: () => Promise<Result>): Promise<Result> {
  if (span === undefined) return work();
  try {
    const result = await runInSpan(span, work);
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

/** Follows a statement that has just been sent, as a step of the current span, if there is one. */
export function traceStatement(text: string, result: Promise<unknown>): void {
  const summary = currentSpan() && summaryOf(text);
  if (summary === undefined) return;
  const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': summary };
  const span = currentSpan()?.start(summary, { kind: 'client', attributes });
  result.then(
    () => span?.end(),
    (error: unknown) => span?.end(error),
  );
}

/** More tables than this make a name unreadable. */
const tablesMax = 3;

/** The kind of a statement and its tables, such as `insert till.payments`. Values are never part of the text. */
export function summaryOf(text: string): string {
  const [verb = ''] = text.trimStart().split(/\W/, 1);
  const tables = [...new Set(text.match(/\btill\.\w+/g) ?? [])].slice(0, tablesMax);
  return [verb.toLowerCase(), ...tables].join(' ');
}
