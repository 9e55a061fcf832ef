import type { DocumentedLimits } from './documented-limits.ts';

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

/**
 * A refused call lowers the limit by one call a second: it was one too many. Within a second, the limit falls to this
 * part of what it was at most, because the calls of one delay arrive together.
 */
const loweredTo = 0.9;
const overshootMs = 1_000;
/** The limit never falls below this part of what is documented: some calls must show whether it is higher again. */
const shareMin = 0.1;
/** After this time without a refusal, the limit rises again, slowly: each refused call is wasted. */
const recoveryDelayMs = 3_000;
const recoveryPerSecond = 0.02;
/** A processor without a stated limit counts as unlimited again after this time without a refusal. */
const forgottenAfterMs = 600_000;
/**
 * How long no call begins after the first refusal of a processor without a stated limit. It counts by the second, and
 * calls that were sent before the refusal may have arrived after it.
 */
const firstPauseMs = 1_100;
/** A longer pause is a mistake of the processor, and would stop all calls. */
const pauseMsMax = 30_000;
/** A limit of concurrent calls rises by one in this time. */
const inFlightRecoveryMs = 5_000;

interface LearnedLimitOptions {
  /** Calls a second. Undefined: none until the processor refuses a call. */
  readonly stated: number | undefined;
  /** What holds once a processor without a stated limit has refused a call. */
  readonly documented: number;
}

/** One limit of the processor, and what its refusals say about it. Time comes from outside. */
export class LearnedLimit {
  readonly #options: LearnedLimitOptions;
  #share = 1;
  /** The least that it may fall to in the second that began then. */
  #shareMin = shareMin;
  #loweringMs = Number.NEGATIVE_INFINITY;
  /** When the rate was refused last. */
  #refusedMs = Number.NEGATIVE_INFINITY;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #inFlightMax = Number.POSITIVE_INFINITY;
  #inFlightRefusedMs = Number.NEGATIVE_INFINITY;

  constructor(options: LearnedLimitOptions) {
    this.#options = options;
  }

  /** Calls a second. Undefined: as many as there are. */
  perSecond(nowMs: number): number | undefined {
    const { stated, documented } = this.#options;
    if (stated === undefined && !this.#isRemembered(this.#refusedMs, nowMs)) return undefined;
    return (stated ?? documented) * this.#shareAt(nowMs);
  }

  /** No call may begin before. */
  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  /** How many calls may be in progress. */
  inFlightMax(nowMs: number): number {
    if (!this.#isRemembered(this.#inFlightRefusedMs, nowMs)) return Number.POSITIVE_INFINITY;
    const quietMs = Math.max(0, nowMs - this.#inFlightRefusedMs);
    return this.#inFlightMax + Math.floor(quietMs / inFlightRecoveryMs);
  }

  /** Whether it limits anything. */
  isActive(nowMs: number): boolean {
    const { stated } = this.#options;
    const isRemembered = (atMs: number) => this.#isRemembered(atMs, nowMs);
    return stated !== undefined || isRemembered(this.#refusedMs) || isRemembered(this.#inFlightRefusedMs);
  }

  /** The processor refused a call because there were too many in a short time. */
  lowerRate(nowMs: number, retryAfterMs: number | undefined): void {
    // It was sent before the pause.
    if (nowMs < this.#pausedUntilMs) return;
    const isFirst = this.perSecond(nowMs) === undefined;
    if (isFirst) this.#share = 1;
    else this.#lowerShare(nowMs);
    this.#refusedMs = nowMs;
    const pauseMs = retryAfterMs ?? (isFirst ? firstPauseMs : 0);
    this.#pausedUntilMs = nowMs + Math.min(pauseMs, pauseMsMax);
  }

  /** The processor refused a call because this many were in progress, with it. */
  lowerInFlight(nowMs: number, inFlight: number, retryAfterMs = 0): void {
    const isSameOvershoot = nowMs - this.#inFlightRefusedMs < overshootMs;
    const present = Math.min(this.inFlightMax(nowMs), Math.max(1, inFlight - 1));
    this.#inFlightMax = isSameOvershoot ? present : Math.max(1, Math.floor(present * loweredTo));
    this.#inFlightRefusedMs = nowMs;
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + Math.min(retryAfterMs, pauseMsMax));
  }

  #lowerShare(nowMs: number): void {
    const { stated, documented } = this.#options;
    const share = this.#shareAt(nowMs);
    if (nowMs - this.#loweringMs >= overshootMs) {
      this.#loweringMs = nowMs;
      this.#shareMin = Math.max(shareMin, share * loweredTo);
    }
    // A limit of a few calls a second falls by a tenth too.
    const ofOneCall = Math.min(1 / (stated ?? documented), share * (1 - loweredTo));
    this.#share = Math.max(this.#shareMin, share - ofOneCall);
  }

  #shareAt(nowMs: number): number {
    const quietMs = Math.max(0, nowMs - this.#refusedMs - recoveryDelayMs);
    return Math.min(1, this.#share + (quietMs / 1_000) * recoveryPerSecond);
  }

  #isRemembered(atMs: number, nowMs: number): boolean {
    return nowMs - atMs < forgottenAfterMs;
  }
}
