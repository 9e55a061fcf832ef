import { type Clock, MovableClock, type ProcessorClock } from '#core/platform/clock.ts';
import { SharedStatement } from '#core/platform/shared-statement.ts';
import type { SandboxControl } from './sandbox-control.ts';
import type { SandboxClock } from './sandbox-responses.ts';

/** A server that is not a sandbox, or that does not respond, is asked again after this time. */
const retryDelayMs = 60_000;
/** How long the last reading of the sandbox's clock is used: the sandbox may be far away, and serve a benchmark. */
const ageMsMaxDefault = 100;

/**
 * The time of a sandbox that runs outside the service, and does not report when its clock is moved. So its clock is
 * read before it is used, once for all requests that wait for it. Without a response, the time is that of this machine.
 */
export class SandboxTime implements ProcessorClock {
  readonly #control: Pick<SandboxControl, 'request'>;
  readonly #ageMsMax: number;
  readonly #time: MovableClock;
  readonly #reads: SharedStatement<undefined, Date>;
  #readAgainAtMs = Number.NEGATIVE_INFINITY;
  #isReading = false;

  /** Tests set a shorter `ageMsMax`. With 0, the clock is read for each use. */
  constructor(control: Pick<SandboxControl, 'request'>, clock: Clock, ageMsMax = ageMsMaxDefault) {
    this.#control = control;
    this.#ageMsMax = ageMsMax;
    this.#time = new MovableClock(clock);
    this.#reads = new SharedStatement({
      run: async (waiting) => {
        await this.#read();
        return waiting.map(() => this.#time.now());
      },
    });
  }

  /** The time of the last reading. If it is too old, the clock is read for the next use. */
  now(): Date {
    if (!this.#isReading && !this.#isKnown) void this.#read();
    return this.#time.now();
  }

  read(): Date | Promise<Date> {
    return this.#isKnown ? this.#time.now() : this.#reads.add(undefined);
  }

  onMoved(listener: () => void): void {
    this.#time.onMoved(listener);
  }

  get #isKnown(): boolean {
    return performance.now() < this.#readAgainAtMs;
  }

  async #read(): Promise<void> {
    const startedAtMs = performance.now();
    this.#isReading = true;
    try {
      const clock = await this.#control.request<SandboxClock>({ method: 'GET', path: '/clock' });
      this.#readAgainAtMs = startedAtMs + this.#ageMsMax;
      this.#time.setAhead(clock.offsetSeconds);
    } catch {
      this.#readAgainAtMs = startedAtMs + retryDelayMs;
      this.#time.setAhead(0);
    } finally {
      this.#isReading = false;
    }
  }
}
