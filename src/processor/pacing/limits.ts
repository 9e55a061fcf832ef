import type { DocumentedLimits } from './documented-limits.ts';
import { LearnedLimit } from './learned-limit.ts';

/** Why the processor refused a call with 429, in its own words. */
export const rateLimitReasons = [
  'global-rate',
  'endpoint-rate',
  'global-concurrency',
  'endpoint-concurrency',
  'resource-specific',
] as const;

export interface RateLimit {
  readonly reason: (typeof rateLimitReasons)[number];
  readonly retryAfterMs: number | undefined;
}

interface LimitsOptions {
  readonly documented: DocumentedLimits;
  /** Calls a second in all. Undefined: no limit until the processor refuses a call. */
  readonly perSecond: number | undefined;
}

/** The limits of the processor: one for all calls, and one for each endpoint. */
export class Limits {
  readonly #options: LimitsOptions;
  readonly #ofEndpoints = new Map<string, LearnedLimit>();
  readonly all: LearnedLimit;
  /** False while no limit is known. */
  mayBeActive: boolean;

  constructor(options: LimitsOptions) {
    this.#options = options;
    const { perSecond: stated, documented } = options;
    this.all = new LearnedLimit({ stated, documented: documented.inAll });
    this.mayBeActive = stated !== undefined;
  }

  /** Endpoints come from the table of operations, so there are not many. */
  of(endpoint: string): LearnedLimit {
    const known = this.#ofEndpoints.get(endpoint);
    if (known !== undefined) return known;
    const documented = this.#options.documented.ofEndpoint(endpoint);
    const stated = this.#options.perSecond === undefined ? undefined : documented;
    const limit = new LearnedLimit({ stated, documented });
    this.#ofEndpoints.set(endpoint, limit);
    return limit;
  }

  /** Whether any call may have to wait. */
  isActive(nowMs: number): boolean {
    const limits = [this.all, ...this.#ofEndpoints.values()];
    this.mayBeActive = limits.some((limit) => limit.isActive(nowMs));
    return this.mayBeActive;
  }

  /** When the next pause ends. Infinite if there is none. */
  pausedMs(nowMs: number): number {
    const ends = [this.all, ...this.#ofEndpoints.values()].map((limit) => limit.pausedUntilMs);
    return Math.min(...ends.filter((end) => end > nowMs)) - nowMs;
  }

  /** What follows from a refusal. `inFlight`: how many calls were in progress, with the refused one. */
  learn(
    endpoint: string,
    { reason, retryAfterMs }: RateLimit,
    nowMs: number,
    inFlight: { readonly all: number; readonly endpoint: number },
  ): void {
    // The limit of one object says nothing about calls for others.
    if (reason === 'resource-specific') return;
    this.mayBeActive = true;
    if (reason === 'global-rate') this.all.lowerRate(nowMs, retryAfterMs);
    else if (reason === 'endpoint-rate') this.of(endpoint).lowerRate(nowMs, retryAfterMs);
    else if (reason === 'global-concurrency') this.all.lowerInFlight(nowMs, inFlight.all, retryAfterMs);
    else this.of(endpoint).lowerInFlight(nowMs, inFlight.endpoint, retryAfterMs);
  }
}
