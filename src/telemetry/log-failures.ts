import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { Logger } from '../platform/logger.ts';

interface Exporter<Data> {
  export(data: Data, done: (result: ExportResult) => void): void;
}

/** Logs when exports begin to fail, and when they work again. Not each failure: there is one every few seconds. */
export function logFailures<Data, E extends Exporter<Data>>(exporter: E, signal: string, logger: Logger): E {
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
