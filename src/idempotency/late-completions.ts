import { setTimeout } from 'node:timers/promises';
import type { Logger } from '../platform/logger.ts';
import type { Database } from '../platform/postgres.ts';
import { SharedStatement } from '../platform/shared-statement.ts';
import type { Claim } from './claim.ts';
import type { ClaimStore } from './claim-store.ts';
import type { CrashPoints } from './crash-points.ts';

/** Nobody waits, so there is time to gather the claims of many. */
const gatherMs = 20;
/** A minute: a connection that breaks, or a database that is started again, need not leave work for the sweeper. */
const triesMax = 60;
const retryDelayMs = 1_000;

interface LateCompletionParts {
  readonly database: Database;
  readonly claims: ClaimStore;
  readonly crashPoints: CrashPoints;
  readonly logger: Logger;
  /** Nobody is at work on the claim any more. */
  readonly onEnd: (claim: Claim) => void;
}

/**
 * Completes claims whose rows are written, after the answers. Until then the same request finds its claim at work. A crash
 * leaves a row whose claim is open, as does a webhook that comes first: the same request or the sweeper finishes it.
 */
export class LateCompletions {
  readonly #parts: LateCompletionParts;
  readonly #underWay = new Set<Promise<void>>();
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
    const done = this.#complete(claim).finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
  }

  /** Waits for all that were added; from now on each has one try. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#underWay);
  }

  async #complete(claim: Claim): Promise<void> {
    const { claims, database, crashPoints, logger, onEnd } = this.#parts;
    try {
      await this.#try(claim, triesMax);
      await crashPoints.pass('record.completed');
    } catch (error) {
      logger.warn({ err: error }, 'claim completion failed; lease released');
      await claims.endLease(database, claim).catch(() => {});
    }
    onEnd(claim);
  }

  async #try(claim: Claim, triesLeft: number): Promise<void> {
    try {
      await this.#completing.add(claim);
    } catch (error) {
      if (triesLeft <= 1 || this.#isStopping) throw error;
      await setTimeout(retryDelayMs);
      await this.#try(claim, triesLeft - 1);
    }
  }
}
