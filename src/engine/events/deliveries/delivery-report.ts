import type { Logger } from '#core/platform/logger.ts';
import type { Metrics } from '#core/platform/metrics.ts';
import type { EventEndpoint } from '../endpoints/endpoint.ts';
import type { EndedDelivery, RecordedBatch } from './record-deliveries.ts';

/** Counts the deliveries of one endpoint, and logs when it begins to fail, recovers or is turned off. */
export class DeliveryReport {
  readonly #metrics: Metrics;
  readonly #logger: Logger;
  #isFailing = false;

  constructor(parts: { readonly metrics: Metrics; readonly logger: Logger }) {
    this.#metrics = parts.metrics;
    this.#logger = parts.logger;
  }

  add({ id, url }: EventEndpoint, recorded: RecordedBatch, ended: readonly EndedDelivery[]): void {
    const { succeeded, retried, failed, isTurnedOff } = recorded;
    for (const [outcome, count] of Object.entries({ succeeded, retried, failed }))
      if (count > 0) this.#metrics.eventDeliveries.inc({ outcome }, count);
    // Omits the path and the query, which may contain a secret.
    const endpoint = { endpointId: id, origin: new URL(url).origin };
    if (failed > 0) this.#logger.warn({ ...endpoint, failed }, 'event deliveries failed for good');
    if (succeeded > 0) {
      if (this.#isFailing) this.#logger.info(endpoint, 'event endpoint recovered');
      this.#isFailing = false;
    } else if (retried > 0 && !this.#isFailing) {
      const outcome = ended.find((one) => one.outcome?.succeeded === false)?.outcome;
      const reason = { responseStatus: outcome?.responseStatus, error: outcome?.error };
      this.#logger.warn({ ...endpoint, ...reason }, 'event endpoint failing');
      this.#isFailing = true;
    }
    if (isTurnedOff)
      this.#logger.warn(endpoint, 'event endpoint turned off: nothing succeeded for three days');
  }
}
