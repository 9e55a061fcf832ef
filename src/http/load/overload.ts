import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { sendProblem } from '../failures/answer-failure.ts';
import type { OpenRequests } from './open-requests.ts';

interface Limit {
  /** Requests under way, this one not counted. */
  readonly inFlight: number;
  /** How long those of them that wait for nobody but us have been under way, on average. */
  readonly ageMs: number;
}

export interface OverloadLimits {
  readonly webhooks: Limit;
  readonly others: Limit;
}

/**
 * A busy process answers within milliseconds and has some hundreds of requests under way. When they have waited for half a
 * second, or are a thousand, webhooks are better sent again later. Where it is twice as bad all the same, people are
 * better told so at once than kept waiting.
 */
export const overloadLimits: OverloadLimits = {
  webhooks: { inFlight: 1_000, ageMs: 500 },
  others: { inFlight: 2_000, ageMs: 1_000 },
};

/** Fewer than these are no crowd: if they are slow, it is not because of each other. */
const crowdMin = 100;

/** While requests are shed, the log says so this often. */
const reportDelayMs = 1_000;
/** The overload is over in a moment, or so short a wait does no harm. */
const retryAfterSeconds = 1;

/** Operators must see what is going on, above all in an overload. */
const neverShed: ReadonlySet<string> = new Set(['/health', '/health/live', '/metrics']);
/** The processor sends its events again for three days, and recovery finds them besides: nothing is lost. */
const webhookRoute = '/webhooks/processor';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the request was refused at the door because of an overload. */
    isShed: boolean;
  }
}

/**
 * Sheds what cannot be served in time, at the door, before any work is done for it: webhooks first, everything else
 * only when it is worse. To be registered before all that costs something. A shed request is counted, not logged: lines by
 * the thousand would add to what they tell of.
 */
export function registerOverload(
  app: FastifyInstance,
  parts: {
    readonly logger: Logger;
    readonly metrics: Metrics;
    readonly limits: OverloadLimits;
    readonly open: OpenRequests;
  },
): void {
  const { logger, metrics, limits, open } = parts;
  const exceeds = ({ inFlight, ageMs }: Limit) => open.count >= inFlight || ageMsOf(open) >= ageMs;
  const report = createReport(logger, open);
  app.decorateRequest('isShed', false);
  // With a callback, because it costs less than a promise, and every request comes through here.
  app.addHook('onRequest', (request, reply, done) => {
    const kind = kindOf(request);
    if (kind !== undefined && exceeds(limits[kind])) {
      request.isShed = true;
      metrics.httpRequestsShed.inc({ kind });
      report(kind);
      sendProblem(reply, shed, request.id);
      return;
    }
    // Those that call the processor are not asked for their age: a slow processor is no overload of ours, and has a limit
    // of its own.
    open.add(reply, kind === 'webhooks' || request.method === 'GET');
    done();
  });
}

const shed = new Failure(
  'overloaded',
  'The service receives more requests than it can handle. Retry later.',
  {
    retryAfterSeconds,
  },
);

function kindOf(request: FastifyRequest): keyof OverloadLimits | undefined {
  const { url: route } = request.routeOptions;
  if (route === webhookRoute) return 'webhooks';
  return route !== undefined && neverShed.has(route) ? undefined : 'others';
}

/** Grows by itself while an event loop that is late, or a database that is slow, keeps requests from their end. */
function ageMsOf(open: OpenRequests): number {
  return open.ownCount < crowdMin ? 0 : open.ownAgeMs;
}

/** Sums up what is shed, so that an overload is a line a second in the log. */
function createReport(logger: Logger, open: OpenRequests): (kind: keyof OverloadLimits) => void {
  let counts = { webhooks: 0, others: 0 };
  let toldAtMs = Number.NEGATIVE_INFINITY;
  return (kind) => {
    counts[kind] += 1;
    const nowMs = performance.now();
    if (nowMs - toldAtMs < reportDelayMs) return;
    logger.warn(
      { ...counts, inFlight: open.count, ageMs: Math.round(ageMsOf(open)) },
      'requests shed due to overload',
    );
    counts = { webhooks: 0, others: 0 };
    toldAtMs = nowMs;
  };
}
