import type { Clock, ProcessorClock } from '../platform/clock.ts';
import { SharedStatement } from '../platform/shared-statement.ts';
import type { SandboxControl } from './sandbox-control.ts';
import type { SandboxClock } from './sandbox-responses.ts';

/** A server that is not a sandbox, or that does not respond, is asked again after this time. */
const retryDelayMs = 60_000;

interface TimeParts {
  readonly control: Pick<SandboxControl, 'request'>;
  readonly clock: Clock;
  /** How long the sandbox's clock counts as known. 0: it is read for each use. */
  readonly maxAgeMs: number;
}

/**
 * The time of a sandbox, whose clock people move ahead. The sandbox does not report that, so its clock is read before it
 * is used, once for all requests that wait for it. Without a response, the time is that of this machine.
 */
export class SandboxTime implements ProcessorClock {
  readonly #parts: TimeParts;
  readonly #reads: SharedStatement<undefined, Date>;
  #aheadMs = 0;
  #readAgainAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: TimeParts) {
    this.#parts = parts;
    this.#reads = new SharedStatement({
      run: async (waiting) => {
        await this.#read();
        return waiting.map(() => this.#current());
      },
    });
  }

  now(): Date | Promise<Date> {
    return performance.now() < this.#readAgainAtMs ? this.#current() : this.#reads.add(undefined);
  }

  #current(): Date {
    return new Date(this.#parts.clock.now().getTime() + this.#aheadMs);
  }

  async #read(): Promise<void> {
    const { control, maxAgeMs } = this.#parts;
    const startedAtMs = performance.now();
    try {
      const clock = await control.request<SandboxClock>({ method: 'GET', path: '/clock' });
      this.#aheadMs = clock.offsetSeconds * 1_000;
      this.#readAgainAtMs = startedAtMs + maxAgeMs;
    } catch {
      this.#aheadMs = 0;
      this.#readAgainAtMs = startedAtMs + retryDelayMs;
    }
  }
}
