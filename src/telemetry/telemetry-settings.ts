/** Where traces and metrics are sent, and how many. It imports nothing, so that reading it loads no package. */
export interface TelemetrySettings {
  /** The base address of the collector. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** The share of the traces that begin here that is recorded. */
  readonly samplePercent: number;
  readonly metricsDelayMs: number;
}
