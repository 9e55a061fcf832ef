import type { Logger } from '../platform/logger.ts';
import type { Transaction } from '../platform/postgres.ts';
import type { Claim, ClaimOperation } from './claim.ts';

/**
 * One kind of creation, in steps that survive a crash between any two of them: prepare or reserve, call, record. Each
 * step gets the result of the step before it.
 */
interface Steps<Request, Prepared, Made, Result> {
  readonly operation: ClaimOperation;
  /** The id of the object that the new one belongs to, if any. */
  parentIdOf(request: Request): string | null;
  /** Calls the processor. No transaction is open during the call. */
  call(request: Request, prepared: Prepared, write: CreationWrite): Promise<Made>;
  /** Writes the row with a single statement, where that is enough. Undefined if the row already exists. */
  insert?(id: string, made: Made, request: Request): Promise<Result | undefined>;
  /** Writes the row in the transaction that completes the claim. A webhook may already have written it. */
  record(tx: Transaction, id: string, made: Made): Promise<Result>;
  /** Looks up what an earlier call may have created. */
  find(claim: FoundClaim): Promise<Made | null>;
  /** Removes the reservation, after it is certain that nothing was created. */
  release?(tx: Transaction, claim: FoundClaim): Promise<void>;
  /**
   * Refreshes the row. An object recorded some time after its creation needs this, because earlier events about it
   * found no row and were ignored.
   */
  refresh?(result: Result): Promise<void>;
  /** Returns the result of a request that an earlier call completed. `parentId` is the one that `parentIdOf` returned. */
  replay(id: string, parentId: string | null): Promise<Result>;
}

/** A creation that only checks what the request depends on, with no transaction open. */
export interface CheckedCreation<Request, Prepared, Made, Result>
  extends Steps<Request, Prepared, Made, Result> {
  prepare(request: Request): Promise<Prepared>;
}

/** A creation that reserves something in the transaction of the claim. It may run again for the same id. */
export interface ReservingCreation<Request, Prepared, Made, Result>
  extends Steps<Request, Prepared, Made, Result> {
  reserve(tx: Transaction, id: string, request: Request): Promise<Prepared>;
}

export type Creation<Request, Prepared, Made, Result> =
  | CheckedCreation<Request, Prepared, Made, Result>
  | ReservingCreation<Request, Prepared, Made, Result>;

/** The id of the new object, and the key under which the processor creates it at most once. */
export interface CreationWrite {
  readonly id: string;
  readonly idempotencyKey: string;
}

/** The part of a claim that a lookup needs. */
export type FoundClaim = Pick<Claim, 'resourceId' | 'parentId' | 'attemptedAt'>;

export interface Created<Result> {
  readonly result: Result;
  readonly replayed: boolean;
}

/** The parent of a claim whose operation always has one. */
export function parentOf({ parentId, resourceId }: FoundClaim): string {
  if (parentId === null) throw new Error(`the claim of ${resourceId} has no parent`);
  return parentId;
}

/** A failed refresh does not fail the request, because the creation itself has succeeded. */
export async function refreshQuietly<Result>(
  creation: { refresh?(result: Result): Promise<void> },
  result: Result,
  logger: Logger,
): Promise<void> {
  try {
    await creation.refresh?.(result);
  } catch (error) {
    logger.warn({ err: error }, 'refresh of a late-recorded object failed');
  }
}
