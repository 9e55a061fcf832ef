import { withDeadline } from './deadline.ts';
import type { Logger } from './logger.ts';

interface Step {
  readonly name: string;
  readonly timeoutMs: number;
  readonly close: () => Promise<unknown>;
}

/**
 * What was started, to be ended in the opposite order: who depends on something is ended before it. A step that
 * fails or takes too long is logged and passed over, so that the ones after it still happen.
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

  /** True if every step ended in time. */
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
