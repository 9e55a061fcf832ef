import type { Logger } from '../platform/logger.ts';
import type { Database, Transaction } from '../platform/postgres.ts';
import { callEndedMs } from './claim.ts';
import type { ClaimStore, StoredClaim } from './claim-store.ts';
import { type Operation, type Recorded, refreshed } from './operation.ts';

interface SettleParts {
  readonly database: Database;
  readonly claims: ClaimStore;
  readonly logger: Logger;
}

export type Settled = 'changed meanwhile' | 'adopted' | 'removed' | 'nothing created';

/**
 * Resolves an abandoned claim by looking up what it created. It never creates an object: a caller that does not repeat its
 * request may no longer want the charge. `endIfNothing` runs in the transaction that locks the claim, if there is nothing.
 */
export function settleAbandoned<Request, Prepared, Made, Result>(
  parts: SettleParts,
  operation: Operation<Request, Prepared, Made, Result>,
  claim: StoredClaim,
  endIfNothing: (tx: Transaction) => Promise<Settled>,
): Promise<Settled> {
  const settle = () => settleInTurn(parts, operation, claim, endIfNothing);
  return operation.inTurn === undefined ? settle() : operation.inTurn(claim, settle);
}

/** The same for a caller that has the turn already. */
export async function settleInTurn<Request, Prepared, Made, Result>(
  { database, claims, logger }: SettleParts,
  operation: Operation<Request, Prepared, Made, Result>,
  claim: StoredClaim,
  endIfNothing: (tx: Transaction) => Promise<Settled>,
): Promise<Settled> {
  const found = await operation.find(claim);
  let recorded: Recorded<Result> | undefined;
  const settled = await database.transaction(async (tx): Promise<Settled> => {
    const current = await claims.lock(tx, claim.resourceId);
    if (current === undefined || !isUnchanged(claim, current)) return 'changed meanwhile';
    if (found !== null) {
      recorded = await operation.record(tx, claim.resourceId, found);
      await claims.complete(tx, [claim]);
      if (recorded.failure !== undefined) await claims.setFailure(tx, claim, recorded.failure);
      return 'adopted';
    }
    if (claim.idleMs > callEndedMs) await operation.release?.(tx, claim);
    return endIfNothing(tx);
  });
  if (recorded !== undefined) await refreshed(operation, recorded.result, logger);
  return settled;
}

/** A request that has resumed the claim meanwhile may have created what the lookup did not find. */
function isUnchanged(claim: StoredClaim, current: StoredClaim): boolean {
  return current.completedAt === null && current.leasedUntil.getTime() === claim.leasedUntil.getTime();
}
