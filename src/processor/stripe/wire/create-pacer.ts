import type { Metrics } from '#core/platform/metrics.ts';
import { CallPacer } from '../../pacing/call-pacer.ts';
import { documentedLimits } from '../../pacing/documented-limits.ts';
import { Limits } from '../../pacing/limits.ts';
import { LocalTokens } from '../../pacing/tokens.ts';
import { isLiveKey, publicApiBase } from '../check-secret-key.ts';

export type PaceMetrics = Pick<
  Metrics,
  'processorQueueLength' | 'processorQueueWait' | 'processorQueueRefused'
>;

interface PaceSettings {
  readonly secretKey: string;
  readonly apiBase: URL;
  readonly maxInFlight: number;
  readonly requestsPerSecond?: number | undefined;
  readonly processes?: number | undefined;
  readonly metrics: PaceMetrics;
}

/** The pacer of all calls of this process. */
export function createPacer(settings: PaceSettings): CallPacer {
  const { secretKey, apiBase, maxInFlight, metrics, processes = 1 } = settings;
  const documented = documentedLimits(isLiveKey(secretKey));
  const isPublic = apiBase.host === publicApiBase.host;
  const perSecond = settings.requestsPerSecond ?? (isPublic ? documented.inAll : undefined);
  const limits = new Limits({ documented, perSecond });
  return new CallPacer({
    limits,
    tokens: new LocalTokens(limits, { share: 1 / processes }),
    inFlightMax: maxInFlight,
    observer: {
      waiting: (priority, change) => metrics.processorQueueLength.inc({ priority }, change),
      began: (priority, waitedMs) => metrics.processorQueueWait.observe({ priority }, waitedMs / 1_000),
      refused: (priority) => metrics.processorQueueRefused.inc({ priority }),
    },
  });
}
