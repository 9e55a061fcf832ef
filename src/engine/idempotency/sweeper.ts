import { runAs } from '#core/platform/cause.ts';
import type { StoredClaim } from './claim-store.ts';
import type { ClaimContext } from './claims.ts';
import type { Operation } from './operation.ts';
import { settleAbandoned, settleInTurn } from './settle-abandoned.ts';

/** Longer than the deadline of any call, so that the process that created the claim no longer works on it. */
const idleMs = 60_000;
/** Few enough that a sweep is short and does not delay API requests at the processor. */
const claimsPerSweep = 50;
/**
 * Callers can repeat a request for a day. The extra hour covers clock differences and time zones. An open claim without
 * an effect is then removed like a completed one.
 */
const settledAgeMs = 25 * 3_600_000;
/** Small batches, so that pruning never holds locks for long. Many batches, so that it keeps up. */
const prunedPerBatch = 1_000;
const pruneBatchesMax = 50;
/** A failed write leaves at most one claim, so only a long outage leaves more. The sweeper settles the rest. */
const claimsPerObject = 20;

export type SweptOperation = Operation<unknown, unknown, unknown, unknown>;

/** Resolves abandoned claims by looking up what they created. */
export class Sweeper {
  readonly #context: ClaimContext;
  readonly #operations: ReadonlyMap<string, SweptOperation>;

  /** `operations` are all that have an idempotency key. */
  constructor(context: ClaimContext, operations: readonly SweptOperation[]) {
    this.#context = context;
    this.#operations = new Map(operations.map((operation) => [operation.name, operation]));
  }

  sweep(signal?: AbortSignal): Promise<void> {
    return runAs('sweeper', () => this.#sweep(signal));
  }

  /** Settles the abandoned claims on an object, except one, for a caller that has the turn of the object. */
  async settleOf(parentId: string, exceptId: string | null): Promise<void> {
    const { database, claims } = this.#context;
    for (const claim of await claims.listAbandonedOf(database, parentId, claimsPerObject)) {
      const operation = this.#operationOf(claim);
      if (claim.resourceId === exceptId || operation.inTurn === undefined) continue;
      await settleInTurn(this.#context, operation, claim, async () => 'nothing created');
    }
  }

  async #sweep(signal: AbortSignal | undefined): Promise<void> {
    const { database, claims, logger } = this.#context;
    for (const claim of await claims.listAbandoned(database, idleMs, claimsPerSweep)) {
      signal?.throwIfAborted();
      try {
        await this.#settle(claim);
      } catch (error) {
        logger.warn(
          { err: error, operation: claim.operation, resourceId: claim.resourceId },
          'abandoned claim not resolved',
        );
        // Otherwise claims that always fail would block all others.
        await claims.postpone(database, claim);
      }
    }
    for (let batch = 0; batch < pruneBatchesMax; batch += 1) {
      if ((await claims.prune(database, settledAgeMs, prunedPerBatch)) < prunedPerBatch) break;
    }
  }

  async #settle(claim: StoredClaim): Promise<void> {
    const { claims, logger } = this.#context;
    const settled = await settleAbandoned(this.#context, this.#operationOf(claim), claim, async (tx) => {
      if (claim.attemptAgeMs > settledAgeMs && (await claims.remove(tx, claim))) return 'removed';
      await claims.postpone(tx, claim);
      return 'nothing created';
    });
    logger.info(
      { operation: claim.operation, resourceId: claim.resourceId, settled },
      'abandoned claim resolved',
    );
  }

  #operationOf({ operation }: StoredClaim): SweptOperation {
    const known = this.#operations.get(operation);
    if (known === undefined) throw new Error(`unknown operation of a claim: ${operation}`);
    return known;
  }
}
