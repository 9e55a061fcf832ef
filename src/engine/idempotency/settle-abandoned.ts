import type { Transaction } from '#core/platform/postgres.ts';
import { callEndedMs } from './claim.ts';
import { isKeyReused } from './claim-failures.ts';
import type { StoredClaim } from './claim-store.ts';
import type { ClaimContext } from './claims.ts';
import { type Operation, type Recorded, refreshed } from './operation.ts';
import { recordEffect } from './processor-step.ts';

type Settled = 'changed meanwhile' | 'adopted' | 'removed' | 'nothing created';

/**
 * Resolves an abandoned claim by looking up what it created. It never creates an object: a caller that does not repeat
 * its request may no longer want the charge. If nothing was created, `endIfNothing` runs in the transaction that locks
 * the claim.
 */
export function settleAbandoned<Request, Prepared, Effect, Result>(
  context: ClaimContext,
  operation: Operation<Request, Prepared, Effect, Result>,
  claim: StoredClaim,
  endIfNothing: (tx: Transaction) => Promise<Settled>,
): Promise<Settled> {
  const settle = () => settleInTurn(context, operation, claim, endIfNothing);
  return operation.inTurn === undefined ? settle() : operation.inTurn(claim, settle);
}

/** Like `settleAbandoned`, for a caller that already has the turn. */
export async function settleInTurn<Request, Prepared, Effect, Result>(
  { database, claims, logger }: ClaimContext,
  operation: Operation<Request, Prepared, Effect, Result>,
  claim: StoredClaim,
  endIfNothing: (tx: Transaction) => Promise<Settled>,
): Promise<Settled> {
  const found = await operation.find(claim).catch(nothingIfReused);
  if (found === null) await operation.correct?.(claim);
  let recorded: Recorded<Result> | undefined;
  const settled = await database.transaction(async (tx): Promise<Settled> => {
    const current = await claims.lock(tx, claim.resourceId);
    if (current === undefined || !isUnchanged(claim, current)) return 'changed meanwhile';
    if (found !== null) {
      recorded = await recordEffect({ tx, claims }, operation, claim, found);
      return 'adopted';
    }
    if (claim.idleMs > callEndedMs) await operation.release?.(tx, claim);
    return endIfNothing(tx);
  });
  if (recorded !== undefined) await refreshed(operation, recorded.result, claim, logger);
  return settled;
}

/**
 * A different request with the same idempotency key created the object, and its claim is lost. The request of this
 * claim created nothing.
 */
function nothingIfReused(error: unknown): null {
  if (isKeyReused(error)) return null;
  throw error;
}

/** A request that resumed the claim meanwhile may have created an object after the lookup. */
function isUnchanged(claim: StoredClaim, current: StoredClaim): boolean {
  return current.completedAt === null && current.leasedUntil.getTime() === claim.leasedUntil.getTime();
}
