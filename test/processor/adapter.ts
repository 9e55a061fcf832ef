import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { inspect } from 'node:util';
import { Failure } from '#core/errors.ts';
import { createLogger } from '#core/platform/logger.ts';
import { createMetrics } from '#core/platform/metrics.ts';
import type { RunScript } from '#processor/pacing/leased-tokens.ts';
import type { Processor } from '../../src/processor/port/processor.ts';
import { createStripeProcessor } from '../../src/processor/stripe/stripe-processor.ts';
import type { CallLimits } from '../../src/processor/stripe/wire/calls.ts';

/** Retries come at once. The time-outs are never met unless a test means to meet them. */
const patient: CallLimits = { deadlineMs: 60_000, attemptTimeoutMs: 30_000, retriesMax: 2, retryDelayMs: 1 };

export interface Adapter {
  readonly processor: Processor;
  /** How calls ended, as the metric tells it: `payments.create ok` → how many. */
  outcomes(): Promise<Record<string, number>>;
  /** How often the processor refused an attempt because of a limit that it named. */
  rateLimited(): Promise<number>;
  /** What was logged, a line each. */
  readonly logged: readonly string[];
}

/** The real adapter with the real package, pointed at a server of the test's own. */
export function startAdapter(
  t: TestContext,
  apiBase: URL,
  options: {
    limits?: Partial<CallLimits>;
    maxInFlight?: number;
    requestsPerSecond?: number;
    runScript?: RunScript;
    secretKey?: string;
  } = {},
): Adapter {
  const metrics = createMetrics({ eventTypes: [], mirrors: [] });
  const logged: string[] = [];
  const processor = createStripeProcessor({
    secretKey: options.secretKey ?? 'sk_test_adapter',
    apiBase,
    webhookSecrets: ['whsec_adapter'],
    maxInFlight: options.maxInFlight ?? 50,
    requestsPerSecond: options.requestsPerSecond,
    runScript: options.runScript,
    metrics,
    logger: createLogger('info', { write: (line: string) => void logged.push(line) }),
    limits: { ...patient, ...options.limits },
  });
  t.after(() => processor.close());
  return {
    processor,
    logged,
    rateLimited: async () => {
      const { values } = await metrics.processorRateLimited.get();
      return values.reduce((sum, { value }) => sum + value, 0);
    },
    outcomes: async () => {
      const { values } = await metrics.processorRequestDuration.get();
      const counts = values.filter(({ metricName, value }) => metricName?.endsWith('_count') && value > 0);
      return Object.fromEntries(
        counts.map(({ labels, value }) => [`${labels.operation} ${labels.outcome}`, value]),
      );
    },
  };
}

/** The failure that the work must end with. */
export async function failureOf(work: Promise<unknown>): Promise<Failure> {
  try {
    await work;
  } catch (error) {
    assert(error instanceof Failure, inspect(error));
    return error;
  }
  assert.fail('the call succeeded');
}
