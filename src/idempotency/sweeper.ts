import type { Logger } from '../platform/logger.ts';
import type { Database } from '../platform/postgres.ts';
import { type Adoption, refreshQuietly } from './adoption.ts';
import { type Claim, callEndedMs } from './claim.ts';
import type { ClaimStore, StoredClaim } from './claim-store.ts';

/** Long past any call's deadline, so that whoever made the claim is surely not at work on it any more. */
const idleMs = 60_000;
/** Few enough that a sweep is short and never crowds out people's requests at the processor. */
const claimsPerSweep = 50;
/** Callers may repeat a request for a day; the hour above it is for clocks and time zones. */
const settledAgeMs = 25 * 3_600_000;
/** Small batches, so that pruning never holds locks for long; many of them, so that it keeps up. */
const prunedPerBatch = 1_000;
const pruneBatchesMax = 50;

interface SweeperParts {
  readonly database: Database;
  readonly claims: ClaimStore;
  /** How what a claim led to is found and written down. */
  readonly adoptionOf: (claim: Claim) => Adoption<unknown, unknown>;
  readonly logger: Logger;
}

/**
 * Settles claims that were left behind by looking up what was made under them. It never makes anything itself: a
 * charge that nobody asks for again is a charge that nobody wants.
 */
export class Sweeper {
  readonly #parts: SweeperParts;

  constructor(parts: SweeperParts) {
    this.#parts = parts;
  }

  async sweep(signal?: AbortSignal): Promise<void> {
    const { database, claims, logger } = this.#parts;
    for (const claim of await claims.listAbandoned(database, idleMs, claimsPerSweep)) {
      signal?.throwIfAborted();
      try {
        await this.#settle(claim);
      } catch (error) {
        logger.warn(
          { err: error, operation: claim.operation, resourceId: claim.resourceId },
          'abandoned claim not resolved',
        );
        // Else claims that can never be looked up would keep the sweeper from all others.
        await claims.postpone(database, claim);
      }
    }
    for (let batch = 0; batch < pruneBatchesMax; batch += 1) {
      if ((await claims.prune(database, settledAgeMs, prunedPerBatch)) < prunedPerBatch) break;
    }
  }

  async #settle(claim: StoredClaim): Promise<void> {
    const { database, claims, adoptionOf, logger } = this.#parts;
    const adoption = adoptionOf(claim);
    const found = await adoption.find(claim.resourceId, claim.attemptedAt);
    let recorded: { readonly result: unknown } | undefined;
    const settled = await database.transaction(async (tx) => {
      const current = await claims.lock(tx, claim.operation, claim.key);
      if (current === undefined || !isAsBefore(claim, current)) return 'changed meanwhile';
      if (found !== null) {
        recorded = { result: await adoption.record(tx, claim.resourceId, found) };
        await claims.complete(tx, [claim]);
        return 'adopted';
      }
      // What was reserved is given back.
      if (claim.idleMs > callEndedMs) await adoption.release(tx, claim.resourceId);
      await claims.postpone(tx, claim);
      return 'nothing created';
    });
    if (recorded !== undefined) await refreshQuietly(adoption, recorded.result, logger);
    logger.info(
      { operation: claim.operation, resourceId: claim.resourceId, settled },
      'abandoned claim resolved',
    );
  }
}

/** Whoever came back to the claim meanwhile, be it in vain, may have made what the look-up did not find yet. */
function isAsBefore(claim: StoredClaim, current: StoredClaim): boolean {
  return current.completedAt === null && current.leasedUntil.getTime() === claim.leasedUntil.getTime();
}
