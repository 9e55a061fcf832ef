import { setTimeout } from 'node:timers/promises';
import type { PlatformParts } from '#core/platform/parts.ts';
import { SharedStatement } from '#core/platform/shared-statement.ts';
import type { Claim, CrashPoints } from './claim.ts';
import type { ClaimStore } from './claim-store.ts';

/** No request waits for a completion, so there is time to collect several claims. */
const gatherMs = 20;
/** One minute of retries covers a broken connection or a database restart without leaving work for the sweeper. */
const attemptsMax = 60;
const retryDelayMs = 1_000;

interface LateCompletionParts extends Pick<PlatformParts, 'database' | 'logger'> {
  readonly claims: ClaimStore;
  readonly crashPoints: CrashPoints;
  /** Called when the work on a claim has ended. */
  readonly onEnd: (claim: Claim) => void;
}

/**
 * Completes claims whose rows are written, after the response. Until then, a repeated request finds its claim in
 * progress. A crash leaves a row with an open claim, and so does a webhook that writes the row first. A repeated
 * request or the sweeper completes such a claim.
 */
export class LateCompletions {
  readonly #parts: LateCompletionParts;
  readonly #inProgress = new Set<Promise<void>>();
  #isStopping = false;
  readonly #completing = new SharedStatement<Claim, undefined>({
    run: async (claims) => {
      await this.#parts.claims.complete(this.#parts.database, claims);
      return claims.map(() => undefined);
    },
    gatherMs,
  });

  constructor(parts: LateCompletionParts) {
    this.#parts = parts;
  }

  add(claim: Claim): void {
    const done = this.#complete(claim).finally(() => this.#inProgress.delete(done));
    this.#inProgress.add(done);
  }

  /** Waits for the completions in progress, and does not retry those that fail from now on. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#inProgress);
  }

  async #complete(claim: Claim): Promise<void> {
    const { claims, database, crashPoints, logger, onEnd } = this.#parts;
    try {
      await this.#attempt(claim, attemptsMax);
      await crashPoints.pass('record.completed');
    } catch (error) {
      logger.warn({ err: error }, 'claim completion failed; lease released');
      await claims.endLease(database, claim).catch(() => {});
    }
    onEnd(claim);
  }

  async #attempt(claim: Claim, attemptsLeft: number): Promise<void> {
    try {
      await this.#completing.add(claim);
    } catch (error) {
      if (attemptsLeft <= 1 || this.#isStopping) throw error;
      await setTimeout(retryDelayMs);
      await this.#attempt(claim, attemptsLeft - 1);
    }
  }
}
