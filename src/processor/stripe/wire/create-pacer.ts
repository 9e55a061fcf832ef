import { createHash, randomUUID } from 'node:crypto';
import type { Logger } from '#core/platform/logger.ts';
import type { Metrics } from '#core/platform/metrics.ts';
import { CallPacer } from '../../pacing/call-pacer.ts';
import { documentedLimits } from '../../pacing/documented-limits.ts';
import { LeasedTokens, type RunScript } from '../../pacing/leased-tokens.ts';
import { Limits } from '../../pacing/limits.ts';
import { LocalTokens, type Tokens } from '../../pacing/tokens.ts';
import { isLiveKey, publicApiBase } from '../check-secret-key.ts';

export type PaceMetrics = Pick<
  Metrics,
  'processorQueueLength' | 'processorQueueWait' | 'processorQueueRefused'
>;

/** In place of the secret key, which no cache may contain. */
const accountLength = 16;

interface PaceSettings {
  readonly secretKey: string;
  readonly apiBase: URL;
  readonly maxInFlight: number;
  readonly requestsPerSecond?: number | undefined;
  readonly processes?: number | undefined;
  readonly runScript?: RunScript | undefined;
  readonly metrics: PaceMetrics;
  readonly logger: Logger;
}

/** The pacer of all calls of this process. */
export function createPacer(settings: PaceSettings): CallPacer {
  const { secretKey, apiBase, maxInFlight, metrics } = settings;
  const documented = documentedLimits(isLiveKey(secretKey));
  const isPublic = apiBase.host === publicApiBase.host;
  const perSecond = settings.requestsPerSecond ?? (isPublic ? documented.inAll : undefined);
  const limits = new Limits({ documented, perSecond });
  return new CallPacer({
    limits,
    tokens: createTokens(settings, limits),
    inFlightMax: maxInFlight,
    observer: {
      waiting: (priority, change) => metrics.processorQueueLength.inc({ priority }, change),
      began: (priority, waitedMs) => metrics.processorQueueWait.observe({ priority }, waitedMs / 1_000),
      refused: (priority) => metrics.processorQueueRefused.inc({ priority }),
    },
  });
}

function createTokens(
  { secretKey, apiBase, processes = 1, runScript, logger }: PaceSettings,
  limits: Limits,
): Tokens {
  if (runScript === undefined) return new LocalTokens(limits, { share: 1 / processes });
  const digest = createHash('sha256').update(`${apiBase.origin} ${secretKey}`).digest('hex');
  return new LeasedTokens({
    ...{ runScript, limits, processes },
    account: digest.slice(0, accountLength),
    process: randomUUID(),
    onOutage: (err) => logger.warn({ err }, 'shared processor limits unavailable; counting per process'),
    onReturn: () => logger.info('shared processor limits restored'),
  });
}
