import type { Failure } from '#core/errors.ts';
import type { Logger } from '#core/platform/logger.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import type { LookUp, Marked, RequestMark } from '#processor/port/request-mark.ts';
import { type Claim, lostClaimAgeMs, type RecordedFailure } from './claim.ts';
import { keyReused, reservationInFlight } from './claim-failures.ts';

/**
 * One kind of creation or change, in steps that survive a crash between any two of them: prepare or reserve, call,
 * record. Each step gets the result of the step before it. `Effect` is what the call created or changed at the
 * processor.
 */
interface Steps<Request, Prepared, Effect, Result> {
  readonly name: string;
  /** The id of the changed object, or of the parent of a new one, if there is one. */
  parentIdOf(request: Request): string | null;
  /** Calls the processor. No transaction is open during the call. */
  call(request: Request, prepared: Prepared, write: OperationWrite): Promise<Effect>;
  /** Writes the row with a single statement, for objects that need only one. Undefined if the row already exists. */
  insert?(id: string, effect: Effect, request: Request): Promise<Result | undefined>;
  /**
   * Writes the row in the transaction that completes the claim. A webhook may already have written it. `isFound`: an
   * earlier request created the object and its claim is lost, so nothing is reserved for it.
   */
  record(tx: Transaction, id: string, effect: Effect, isFound: boolean): Promise<Recorded<Result>>;
  /** The id that the created object carries. A caller has seen it, so it wins over the id of a newer claim. */
  idOf?(effect: Effect): string | null;
  /** The id of the object that already existed, if nothing was created. */
  existingIdOf?(effect: Effect): string | null;
  /**
   * Runs the work when it is the turn of this claim, for objects that take one write at a time. If that takes too long,
   * it fails without an effect.
   */
  inTurn?<T>(claim: FoundClaim, work: (turn: WriteTurn) => Promise<T>): Promise<T>;
  /**
   * Looks up what an earlier call may have created, even if its claim is lost. Null for a change, which can be
   * repeated. Fails if a different request with the same idempotency key created it.
   */
  find(claim: FoundClaim): Promise<Effect | null>;
  /**
   * Corrects the row that a call of an abandoned claim may have changed. Called before the claim is settled, if `find`
   * finds nothing.
   */
  correct?(claim: FoundClaim): Promise<void>;
  /** Removes the reservation. Called only when it is certain that nothing was created. */
  release?(tx: Transaction, claim: ReleasedClaim): Promise<void>;
  /**
   * Finishes what another request's ended claim may have left undone. Called before this request releases the
   * reservation of that claim.
   */
  finishReservation?(claimId: string): Promise<void>;
  /**
   * Brings the row up to date and returns the result with it. Called if `record` asks for it, and for a resumed claim:
   * the processor may have repeated an old response, and earlier events about the object may have found no row. Also
   * ends what the claim still reserves.
   */
  refresh?(result: Result, claimId: string): Promise<Result>;
  /** The response to a change must show the change, so a failed refresh fails the request. The caller can repeat it. */
  readonly isChange?: true;
  /**
   * Only the transaction that completes the claim has an effect. So it must still hold the claim, and a refusal by
   * `record` frees the idempotency key.
   */
  readonly isLocal?: true;
  /** Returns the result of a request that an earlier call completed. Objects without a row need the claim. */
  replay(id: string, claim: FoundClaim): Promise<Result>;
}

/** The turn in which a write happens. */
export interface WriteTurn {
  /** The claim may have been resumed or completed meanwhile. */
  readonly hasWaited: boolean;
  /** Call it if the write failed and its claim stays open. The next writer settles that claim first. */
  leaveOpen(error: unknown): void;
}

/** An operation that only checks what the request depends on, with no transaction open. */
export interface CheckedOperation<Request, Prepared, Effect, Result>
  extends Steps<Request, Prepared, Effect, Result> {
  /** May also reserve something for the claim `id`, in a separate transaction. */
  prepare(request: Request, id: string, admission: Admission): Promise<Prepared>;
}

/**
 * Why a claim is prepared. `new`: for a new claim. `again`: for a resumed claim, which was admitted before and may have
 * called the processor. Its reservation still exists. `given up`: the same, but the sweeper may have released the
 * reservation.
 */
export type Admission = 'new' | 'again' | 'given up';

/** An operation that reserves something in the transaction of the claim, and again when the claim is resumed. */
export interface ReservingOperation<Request, Prepared, Effect, Result>
  extends Steps<Request, Prepared, Effect, Result> {
  reserve(tx: Transaction, id: string, request: Request, admission: Admission): Promise<Prepared>;
}

/**
 * An operation that reserves something in the transaction of the claim, and then checks what the request depends on.
 */
export interface CheckedReservingOperation<Request, Prepared, Effect, Result>
  extends CheckedOperation<Request, Prepared, Effect, Result> {
  reserve(tx: Transaction, id: string, request: Request, admission: Admission): Promise<undefined>;
}

export type Operation<Request, Prepared, Effect, Result> =
  | CheckedOperation<Request, Prepared, Effect, Result>
  | ReservingOperation<Request, Prepared, Effect, Result>
  | CheckedReservingOperation<Request, Prepared, Effect, Result>;

/** The id of the new object, and the processor key under which it is created at most once. */
export interface OperationWrite {
  readonly id: string;
  readonly idempotencyKey: string;
  readonly mark: RequestMark;
  /** Whether the caller sent an idempotency key. An earlier request may have used it. */
  readonly hasKey: boolean;
  /** An earlier call may have used the processor key. Then the processor repeats its response, which may be stale. */
  readonly isRepeated: boolean;
  /** The last object that an earlier call of the same request acted on. Null if there is none. */
  readonly target: string | null;
  /** Records the object that the request is about to act on. Fails if another request has resumed the claim. */
  choose(target: string): Promise<void>;
}

/**
 * What a request does if the claim that holds its reservation is abandoned. `resume`: the request finishes that claim
 * with its own values. `look up`: it looks up what the claim created. `resume if same`: it finishes the claim if the
 * values are the same, and otherwise looks up what the claim created. `fail`: it fails.
 */
type WhenAbandoned = 'resume' | 'look up' | 'resume if same' | 'fail';

/**
 * Thrown by `reserve` if an unfinished claim of another request holds what this request needs. The request waits for
 * that claim, and fails as `unresolved` says if it takes too long.
 */
export class ReservationHeld extends Error {
  override readonly name = 'ReservationHeld';
  readonly claimId: string;
  readonly whenAbandoned: WhenAbandoned;
  readonly unresolved: Failure;

  constructor(claimId: string, whenAbandoned: WhenAbandoned, unresolved = reservationInFlight()) {
    super(`reserved by the claim of ${claimId}`);
    this.claimId = claimId;
    this.whenAbandoned = whenAbandoned;
    this.unresolved = unresolved;
  }
}

/**
 * Thrown by `reserve` or `prepare` if commits are lost and what the request depends on may be among them. The request
 * recovers it with no transaction open, and starts again.
 */
export class RecoverFirst extends Error {
  override readonly name = 'RecoverFirst';
  readonly recover: () => Promise<void>;

  constructor(recover: () => Promise<void>) {
    super('commits may be lost');
    this.recover = recover;
  }
}

export interface Recorded<Result> {
  readonly result: Result;
  /** The row differs from what the call returned, and only the processor knows which is newer. */
  readonly needsRefresh?: boolean;
  /** The charge was declined: the request fails with this, now and whenever it is repeated. */
  readonly failure?: RecordedFailure;
}

/** The part of a claim that a lookup needs. */
export type FoundClaim = Pick<Claim, 'resourceId' | 'parentId' | 'attemptedAt' | 'target' | 'mark'>;

/** The part of a claim that releasing its reservation needs. */
export type ReleasedClaim = Pick<Claim, 'resourceId' | 'parentId'>;

export interface OperationResult<Result> {
  readonly result: Result;
  readonly replayed: boolean;
}

/** How to find what the request of a claim created at the processor. */
export function lookUpOf({ mark, attemptedAt }: Pick<FoundClaim, 'mark' | 'attemptedAt'>): LookUp {
  return { mark, since: new Date(attemptedAt.getTime() - lostClaimAgeMs) };
}

/** What a lookup found. Fails if a different request with the same idempotency key created it. */
export function ofSameRequest<T>({ mark }: Pick<FoundClaim, 'mark'>, found: Marked<T> | null): T | null {
  if (found !== null && found.request !== mark.request) throw keyReused();
  return found?.value ?? null;
}

/** A failed refresh does not fail a creation, which itself has succeeded. */
export async function refreshed<Result>(
  operation: { readonly isChange?: true; refresh?(result: Result, claimId: string): Promise<Result> },
  result: Result,
  { resourceId }: ReleasedClaim,
  logger: Logger,
): Promise<Result> {
  if (operation.refresh === undefined) return result;
  try {
    return await operation.refresh(result, resourceId);
  } catch (error) {
    if (operation.isChange) throw error;
    logger.warn({ err: error }, 'refresh of a late-recorded object failed');
    return result;
  }
}
