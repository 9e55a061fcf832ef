import type { Logger } from '../platform/logger.ts';
import type { Database } from '../platform/postgres.ts';
import { type ClaimOperation, callEndedMs } from './claim.ts';
import type { ClaimStore, StoredClaim } from './claim-store.ts';
import { type Creation, refreshQuietly } from './creation.ts';

/** Long past any call's deadline, so that the process that made the claim no longer works on it. */
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
  readonly creations: Readonly<Record<ClaimOperation, Creation<unknown, unknown, unknown, unknown>>>;
  readonly logger: Logger;
}

/**
 * Resolves abandoned claims by looking up what was created under them. It never creates anything itself: a charge that
 * the caller does not ask for again is a charge that the caller does not want.
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
        // Otherwise claims that can never be looked up would keep the sweeper from all others.
        await claims.postpone(database, claim);
      }
    }
    for (let batch = 0; batch < pruneBatchesMax; batch += 1) {
      if ((await claims.prune(database, settledAgeMs, prunedPerBatch)) < prunedPerBatch) break;
    }
  }

  async #settle(claim: StoredClaim): Promise<void> {
    const { database, claims, creations, logger } = this.#parts;
    const creation = creations[claim.operation];
    const found = await creation.find(claim);
    let recorded: { readonly result: unknown } | undefined;
    const settled = await database.transaction(async (tx) => {
      const current = await claims.lock(tx, claim.operation, claim.key);
      if (current === undefined || !isAsBefore(claim, current)) return 'changed meanwhile';
      if (found !== null) {
        recorded = { result: await creation.record(tx, claim.resourceId, found) };
        await claims.complete(tx, [claim]);
        return 'adopted';
      }
      if (claim.idleMs > callEndedMs) await creation.release?.(tx, claim);
      await claims.postpone(tx, claim);
      return 'nothing created';
    });
    if (recorded !== undefined) await refreshQuietly(creation, recorded.result, logger);
    logger.info(
      { operation: claim.operation, resourceId: claim.resourceId, settled },
      'abandoned claim resolved',
    );
  }
}

/** A request that returned to the claim meanwhile may have created what the look-up did not find. */
function isAsBefore(claim: StoredClaim, current: StoredClaim): boolean {
  return current.completedAt === null && current.leasedUntil.getTime() === claim.leasedUntil.getTime();
}
