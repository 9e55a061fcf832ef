import { leaseScript } from './lease-script.ts';
import type { Limits } from './limits.ts';
import { bucketSize } from './token-bucket.ts';
import { type Granted, LocalTokens, type Tokens } from './tokens.ts';

/** While Redis is down, one round trip in this time checks whether it is back. */
const retryDelayMs = 1_000;

/** Runs a script in the cache that the processes share. Rejects within a bounded time. */
export type RunScript = (
  script: string,
  keys: readonly string[],
  values: readonly string[],
) => Promise<unknown>;

interface LeaseOptions {
  readonly runScript: RunScript;
  readonly limits: Limits;
  /** The account at the processor: processes of one account share its limits. */
  readonly account: string;
  /** This process. */
  readonly process: string;
  /** How many processes there are at least. */
  readonly processes: number;
  readonly onOutage: (error: unknown) => void;
  readonly onReturn: () => void;
}

/**
 * The tokens that several processes share, in Redis. A process asks for all of its calls that wait, and uses the
 * portion that it gets at once. If Redis fails, it counts alone, with its share of the limits.
 */
export class LeasedTokens implements Tokens {
  readonly #options: LeaseOptions;
  readonly #keys: readonly string[];
  /** Undefined while the tokens are shared. */
  #alone: LocalTokens | undefined;
  #retryAtMs = 0;
  /** When this process is to ask again. It may ask before, for calls that came since. */
  #turnMs = 0;
  #others = { processes: 1, waiting: 0 };

  constructor(options: LeaseOptions) {
    this.#options = options;
    // The braces keep both on one server of a cluster.
    this.#keys = ['buckets', 'processes'].map((name) => `till:pace:{${options.account}}:${name}`);
  }

  get others(): { readonly processes: number; readonly waiting: number } {
    return this.#alone === undefined ? this.#others : this.#alone.others;
  }

  take(endpoints: readonly string[], waiting: number, nowMs: number): Granted | Promise<Granted> {
    if (this.#alone === undefined) return this.#lease(endpoints, waiting, nowMs);
    if (nowMs >= this.#retryAtMs) {
      this.#retryAtMs = nowMs + retryDelayMs;
      // It asks for no token. Calls don't wait for it.
      void this.#ask([], 0, nowMs).then(
        () => {
          this.#alone = undefined;
          this.#options.onReturn();
        },
        () => {},
      );
    }
    return this.#alone.take(endpoints, waiting, nowMs);
  }

  async #lease(endpoints: readonly string[], waiting: number, nowMs: number): Promise<Granted> {
    try {
      return await this.#ask(endpoints, waiting, nowMs);
    } catch (error) {
      const { limits, processes, onOutage } = this.#options;
      const share = 1 / Math.max(processes, this.#others.processes);
      // Redis may have granted tokens, although its response is lost.
      const alone = new LocalTokens(limits, { share, startsFull: false });
      this.#alone = alone;
      this.#retryAtMs = nowMs + retryDelayMs;
      onOutage(error);
      return alone.take(endpoints, waiting, nowMs);
    }
  }

  async #ask(endpoints: readonly string[], waiting: number, nowMs: number): Promise<Granted> {
    const { limits, runScript, process } = this.#options;
    const names = [...new Set(endpoints)];
    const buckets = [
      ...bucketOf('', limits.all.perSecond(nowMs)),
      ...names.flatMap((name) => bucketOf(name, limits.of(name).perSecond(nowMs))),
    ];
    const calls = endpoints.map((endpoint) => String(names.indexOf(endpoint) + 1));
    const hasTurn = nowMs < this.#turnMs;
    const counts = [String(waiting), hasTurn ? '0' : '1', String(names.length + 1)];
    const lease = parseLease(
      await runScript(leaseScript, this.#keys, [process, ...counts, ...buckets, ...calls]),
    );
    const { granted, waitMs, ...others } = lease;
    this.#others = others;
    if (!hasTurn) this.#turnMs = nowMs + waitMs;
    return { granted, waitMs: Math.max(1, this.#turnMs - nowMs) };
  }
}

/**
 * How late a process may ask without a loss: its timer and the round trip take some time, and what flows into a full
 * bucket is lost. It is half of the reserve that a bucket has for calls that take longer to arrive.
 */
const lateSeconds = 0.04;

function bucketOf(name: string, perSecond: number | undefined): readonly string[] {
  if (perSecond === undefined) return [name, '0', '0'];
  const size = bucketSize(perSecond);
  return [name, String(size.perSecond), String(size.capacity + lateSeconds * size.perSecond)];
}

function parseLease(response: unknown) {
  const [granted, waitMs, processes, waiting] = Array.isArray(response) ? response : [];
  const numbers = [waitMs, processes, waiting].map(Number);
  if (typeof granted !== 'string' || !numbers.every(Number.isFinite))
    throw new TypeError('the cache returned an invalid lease');
  return {
    granted: [...granted].map((digit) => digit === '1'),
    waitMs: Number(waitMs),
    processes: Number(processes),
    waiting: Number(waiting),
  };
}
