import type { Transaction } from '#core/platform/postgres.ts';
import type { Claim } from './claim.ts';
import { ClaimEnded } from './claim-failures.ts';
import type { ClaimStore } from './claim-store.ts';
import type { CrashPoints } from './crash-points.ts';
import type { Operation, Recorded } from './operation.ts';

/**
 * Records the effect of a call and completes its claim. Every transaction locks the claim first, because two
 * transactions that lock in different orders can deadlock. If an earlier request, whose claim is lost, created the
 * object, this claim takes over its id, and the reservation under the old id is released.
 *
 * If another request has taken the claim over, this request may still record the object at the processor, because both
 * have the same effect. The effect of a local operation would happen twice, so a local operation must still hold its
 * claim.
 */
export async function recordEffect<Request, Prepared, Effect, Result>(
  { tx, claims, pass = async () => {} }: RecordParts,
  operation: Operation<Request, Prepared, Effect, Result>,
  claim: Claim,
  effect: Effect,
): Promise<Recorded<Result>> {
  if (operation.isLocal && !(await claims.renewLease(tx, claim))) throw new ClaimEnded();
  const resourceId = operation.idOf?.(effect) ?? claim.resourceId;
  const isFound = resourceId !== claim.resourceId;
  if (isFound) await claims.moveTo(tx, claim, resourceId);
  const own = { ...claim, resourceId };
  await claims.complete(tx, [own]);
  const existingId = operation.existingIdOf?.(effect) ?? null;
  if (existingId !== null) await claims.setParent(tx, own, existingId);
  if (isFound) await operation.release?.(tx, claim);
  await pass('record.completed');
  const written = await operation.record(tx, resourceId, effect, isFound);
  if (written.failure !== undefined) await claims.setFailure(tx, own, written.failure);
  await pass('record.row');
  return written;
}

interface RecordParts {
  readonly tx: Transaction;
  readonly claims: ClaimStore;
  readonly pass?: CrashPoints['pass'];
}
