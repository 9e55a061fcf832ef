import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '#core/errors.ts';
import type { Logger } from '#core/platform/logger.ts';
import type { Metrics } from '#core/platform/metrics.ts';
import { sendProblem } from '../failures/respond-to-failure.ts';
import type { OpenRequests } from './open-requests.ts';

interface Limit {
  /** Requests that work, without this one, those whose body still arrives, and those that wait. */
  readonly working: number;
  /** How long those that never call the processor have worked, on average. */
  readonly ageMs: number;
}

export interface OverloadLimits {
  readonly webhooks: Limit;
  readonly others: Limit;
}

/**
 * A busy process responds within milliseconds and works on a few hundred requests. When they have taken half a second,
 * or are a thousand, webhooks are refused: the processor sends them again later. When it is twice as bad, everyone else
 * is refused too: an error at once is better than a long wait.
 */
export const overloadLimits: OverloadLimits = {
  webhooks: { working: 1_000, ageMs: 500 },
  others: { working: 2_000, ageMs: 1_000 },
};

/** Below this number there is no overload: slow requests don't slow each other down. */
const crowdMin = 100;

/** While requests are shed, one line per second is logged. */
const reportDelayMs = 1_000;
/** By then the overload is usually over. If it is not, another refusal costs little. */
const retryAfterSeconds = 1;

/** Operators must see what happens, above all during an overload. */
const neverShed: ReadonlySet<string> = new Set(['/health', '/health/live', '/health/ready', '/metrics']);
/** The processor retries its events for three days, and recovery finds them as well: nothing is lost. */
const webhookRoute = '/webhooks/processor';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the request was shed because of an overload. */
    isShed: boolean;
  }
}

/**
 * Sheds requests that cannot be served in time, before any work is done for them: webhooks first, everything else only
 * when it gets worse. Must be registered before any hook that costs time. A shed request is counted, not logged:
 * thousands of lines would add to the load. Returns whether a webhook would be shed now.
 */
export function registerOverload(
  app: FastifyInstance,
  parts: {
    readonly logger: Logger;
    readonly metrics: Metrics;
    readonly limits: OverloadLimits;
    readonly open: OpenRequests;
  },
): () => boolean {
  const { logger, metrics, limits, open } = parts;
  const exceeds = ({ working, ageMs }: Limit) => open.workingCount >= working || ageMsOf(open) >= ageMs;
  const report = createReport(logger, open);
  app.decorateRequest('isShed', false);
  // A callback costs less than a promise, and every request passes here.
  app.addHook('onRequest', (request, reply, done) => {
    const kind = kindOf(request);
    if (kind !== undefined && exceeds(limits[kind])) {
      request.isShed = true;
      metrics.httpRequestsShed.inc({ kind });
      report(kind);
      sendProblem(reply, shed, request.id);
      return;
    }
    // The age of requests that call the processor does not count: a slow processor does not overload this process, and
    // has its own limit.
    open.add(reply, kind === 'webhooks' || request.method === 'GET', hasBody(request.raw));
    done();
  });
  return () => exceeds(limits.webhooks);
}

const shed = new Failure(
  'overloaded',
  'The service receives more requests than it can handle. Retry later.',
  {
    retryAfterSeconds,
  },
);

function kindOf(request: FastifyRequest): keyof OverloadLimits | undefined {
  const { url: route } = request.route;
  if (route === webhookRoute) return 'webhooks';
  return route !== undefined && neverShed.has(route) ? undefined : 'others';
}

/** Whether a body follows the headers. */
function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined;
}

/** The average grows while a late event loop or a slow database delays requests. */
function ageMsOf(open: OpenRequests): number {
  return open.localCount < crowdMin ? 0 : open.localAgeMs;
}

/** Sums up shed requests, so that an overload logs one line per second. */
function createReport(logger: Logger, open: OpenRequests): (kind: keyof OverloadLimits) => void {
  let counts = { webhooks: 0, others: 0 };
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  return (kind) => {
    counts[kind] += 1;
    const nowMs = performance.now();
    if (nowMs - reportedAtMs < reportDelayMs) return;
    logger.warn(
      { ...counts, working: open.workingCount, ageMs: Math.round(ageMsOf(open)) },
      'requests shed due to overload',
    );
    counts = { webhooks: 0, others: 0 };
    reportedAtMs = nowMs;
  };
}
