import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '#core/errors.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Processor } from '../port/processor.ts';
import { compareAccount } from './compare-account.ts';

/** Longer than the processor's slowest usual responses. A start must not wait for a processor that hangs. */
const startWaitMsMax = 5_000;
/**
 * The delay before the first retry. It doubles with every further one. A processor that restarts is back within
 * seconds.
 */
const retryDelayMs = 1_000;
/** The longest time for which writes are still refused after the processor is back. */
const retryDelayMsMax = 30_000;

type State =
  | { readonly is: 'undecided'; readonly failure: unknown; readonly retryDelayMs: number }
  | { readonly is: 'same' }
  | { readonly is: 'different'; readonly difference: string };

/**
 * Allows calls to the processor only once its account is known to be the one that the database belongs to. Another
 * account has none of Till's objects, and its events must not be applied.
 */
export class AccountGuard {
  readonly #context: Pick<Platform, 'database' | 'logger'>;
  readonly #stopping = new AbortController();
  readonly #firstAttempt = Promise.withResolvers<void>();
  readonly #comparison = Promise.withResolvers<'same' | 'different'>();
  #state: State = { is: 'undecided', failure: undefined, retryDelayMs };
  #isStarted = false;

  constructor(context: Pick<Platform, 'database' | 'logger'>) {
    this.#context = context;
  }

  /** Resolves once the accounts have been compared. Never resolves if the service stops before that. */
  get comparison(): Promise<'same' | 'different'> {
    return this.#comparison.promise;
  }

  /** Throws if the account differs. If the comparison takes too long, it continues in the background. */
  async start(processor: Processor): Promise<void> {
    const timer = new AbortController();
    const expired = wait(startWaitMsMax, undefined, { signal: timer.signal }).catch(() => {});
    // After the wait below, nothing awaits the first attempt. Its failure is logged.
    this.#firstAttempt.promise.catch(() => {});
    void this.#compareUntilDecided(processor);
    await Promise.race([this.#firstAttempt.promise, expired]).finally(() => timer.abort());
    if (this.#state.is === 'different') throw new Error(this.#state.difference);
    this.#isStarted = true;
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Throws unless the processor may be called. */
  require(): void {
    if (this.#state.is === 'same') return;
    if (this.#state.is === 'different') {
      throw new Failure(
        'processor_misconfigured',
        'PROCESSOR_SECRET_KEY belongs to a different processor account or mode than the database. ' +
          'Set a key of the right account. The log names both accounts.',
        { effect: 'none' },
      );
    }
    const { failure } = this.#state;
    // A secret key that the processor does not accept is not an outage.
    if (failure instanceof Failure && failure.code === 'processor_misconfigured') {
      throw new Failure(failure.code, failure.message, { effect: 'none' });
    }
    throw new Failure(
      'processor_unavailable',
      'Till has not yet verified that the secret key belongs to this database. Retry later.',
      { effect: 'none', retryAfterSeconds: Math.ceil(this.#state.retryDelayMs / 1_000) },
    );
  }

  async #compareUntilDecided(processor: Processor): Promise<void> {
    const { signal } = this.#stopping;
    for (let delayMs = retryDelayMs; !signal.aborted; delayMs = Math.min(delayMs * 2, retryDelayMsMax)) {
      try {
        const difference = await compareAccount(this.#context, processor);
        if (!signal.aborted) this.#decide(difference);
        return;
      } catch (failure) {
        if (signal.aborted) return;
        // A defect, or a database role without privileges. In either case the service should not start.
        if (!(failure instanceof Failure)) this.#firstAttempt.reject(failure);
        this.#state = { is: 'undecided', failure, retryDelayMs: delayMs };
        this.#context.logger.warn(
          { err: failure, retryDelayMs: delayMs },
          'processor account not verified; processor calls refused',
        );
      } finally {
        this.#firstAttempt.resolve();
      }
      await wait(delayMs, undefined, { signal }).catch(() => {});
    }
  }

  #decide(difference: string | undefined): void {
    const { logger } = this.#context;
    this.#state = difference === undefined ? { is: 'same' } : { is: 'different', difference };
    // During the start nothing is logged: `start` throws the difference itself.
    if (difference !== undefined && this.#isStarted)
      logger.error({ difference }, 'processor account mismatch');
    else if (difference === undefined && this.#isStarted) logger.info('processor account verified');
    this.#comparison.resolve(this.#state.is === 'same' ? 'same' : 'different');
  }
}
