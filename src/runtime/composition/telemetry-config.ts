import type { EnvironmentReader } from '#core/platform/environment.ts';
import type { TelemetrySettings } from '../telemetry/open-telemetry.ts';
import { settings } from './settings.ts';

/** The collector that receives traces and metrics. Undefined: none. */
export function readTelemetry(env: EnvironmentReader): TelemetrySettings | undefined {
  const endpoint = env.address('OTEL_EXPORTER_OTLP_ENDPOINT', ['http://', 'https://']);
  const headers = parseHeaders(env.text('OTEL_EXPORTER_OTLP_HEADERS') ?? '');
  if (headers === undefined)
    env.mistakes.push('OTEL_EXPORTER_OTLP_HEADERS is (hidden); allowed: name=value, separated by commas');
  const others = {
    headers: headers ?? {},
    serviceName: env.text('OTEL_SERVICE_NAME') ?? settings.OTEL_SERVICE_NAME.default,
    samplePercent: env.integer('OTEL_TRACES_SAMPLE_PERCENT', settings.OTEL_TRACES_SAMPLE_PERCENT),
    metricsDelayMs: env.integer('OTEL_METRIC_EXPORT_INTERVAL', settings.OTEL_METRIC_EXPORT_INTERVAL),
  };
  if (endpoint !== undefined) return { endpoint, ...others };
  if (env.has('OTEL_EXPORTER_OTLP_HEADERS'))
    env.missingFor('OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_HEADERS');
  return undefined;
}

/** The SDK's form, in which values are encoded like parts of a URL. Undefined if it is malformed. */
function parseHeaders(text: string): Record<string, string> | undefined {
  const parts = text.split(',').filter((part) => part.trim() !== '');
  const pairs = parts.map((part) => /^\s*([\w-]+)\s*=\s*([\x20-\x7e]+)$/.exec(part));
  if (pairs.includes(null)) return undefined;
  try {
    return Object.fromEntries(pairs.map((pair) => [pair?.[1], decodeURIComponent(pair?.[2]?.trim() ?? '')]));
  } catch {
    return undefined;
  }
}
