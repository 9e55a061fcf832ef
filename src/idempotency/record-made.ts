import type { Transaction } from '../platform/postgres.ts';
import type { Claim } from './claim.ts';
import type { ClaimStore } from './claim-store.ts';
import type { CrashPoints } from './crash-points.ts';
import type { Operation, Recorded } from './operation.ts';

/**
 * Records what was made and completes its claim. The claim comes first in every transaction: two transactions that lock in
 * different orders can deadlock. If an earlier request made it, whose claim is lost, the claim takes over its id, and what
 * was reserved under the id of the claim is released.
 */
export async function recordMade<Request, Prepared, Made, Result>(
  { tx, claims, pass = async () => {} }: RecordParts,
  operation: Operation<Request, Prepared, Made, Result>,
  claim: Claim,
  made: Made,
): Promise<Recorded<Result>> {
  const resourceId = operation.idOf?.(made) ?? claim.resourceId;
  const isFound = resourceId !== claim.resourceId;
  if (isFound) await claims.moveTo(tx, claim, resourceId);
  const own = { ...claim, resourceId };
  await claims.complete(tx, [own]);
  const existingId = operation.existingIdOf?.(made) ?? null;
  if (existingId !== null) await claims.setParent(tx, own, existingId);
  if (isFound) await operation.release?.(tx, claim);
  await pass('record.completed');
  const written = await operation.record(tx, resourceId, made, isFound);
  if (written.failure !== undefined) await claims.setFailure(tx, own, written.failure);
  await pass('record.row');
  return written;
}

interface RecordParts {
  readonly tx: Transaction;
  readonly claims: ClaimStore;
  readonly pass?: CrashPoints['pass'];
}
