import { withDeadline } from './deadline.ts';
import type { Logger } from './logger.ts';

/** Ctrl-C under npm arrives twice within a millisecond; only a later signal means "stop at once". */
export const secondSignalDelayMs = 1_000;

interface Step {
  readonly name: string;
  readonly timeoutMs: number;
  readonly close: () => Promise<unknown>;
}

/**
 * Stops what was started, in reverse order: each part stops before the parts that it depends on. A step that fails or
 * takes too long is logged and skipped, so that the later steps still run.
 */
export class Shutdown {
  readonly #steps: Step[] = [];
  readonly #logger: Logger;
  #hasBegun = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  add(name: string, timeoutMs: number, close: () => Promise<unknown>): void {
    this.#steps.push({ name, timeoutMs, close });
  }

  /** True if every step finished in time. */
  async run(): Promise<boolean> {
    this.#hasBegun = true;
    let clean = true;
    for (const step of this.#steps.splice(0).reverse()) {
      try {
        await withDeadline(step.close(), step.timeoutMs, `ending ${step.name}`);
      } catch (error) {
        clean = false;
        this.#logger.error({ err: error, step: step.name }, 'shutdown step failed');
      }
    }
    return clean;
  }
}
