import { setTimeout } from 'node:timers/promises';
import { Failure } from '#core/errors.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import { auditOperation, auditReplay, confirmCaller, isAudited } from '#core/platform/cause.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import { inSpan } from '#core/platform/tracing.ts';
import { type Claim, callEndedMs, hashRequest, isUnrepeatable } from './claim.ts';
import { ClaimEnded, declined, keyInFlight } from './claim-failures.ts';
import type { StoredClaim } from './claim-store.ts';
import { admissionOf, type ClaimContext, Claims, LateCompletions, type OwnClaim } from './claims.ts';
import {
  type Admission,
  type Operation,
  type OperationResult,
  type Recorded,
  RecoverFirst,
  ReservationHeld,
  refreshed,
  type WriteTurn,
} from './operation.ts';
import { type ClaimedRequest, ProcessorStep, recordEffect } from './processor-step.ts';
import { settleAbandoned } from './settle-abandoned.ts';

/**
 * The delay after the first lookup that found no object of an abandoned claim. It doubles with every further lookup, so
 * that a request makes at most six.
 */
const lookUpDelayMs = 250;

interface CarriedOut<Result> extends Recorded<Result> {
  /** An earlier request created the object, and its claim is lost. */
  readonly isFound: boolean;
}

/**
 * Creates and changes objects at the processor exactly once: claim, prepare, call with no open transaction, record,
 * complete.
 */
export class IdempotencyService {
  readonly #context: ClaimContext;
  readonly #claims: Claims;
  readonly #step: ProcessorStep;
  readonly #late: LateCompletions;

  constructor(context: ClaimContext) {
    this.#context = context;
    this.#claims = new Claims(context);
    this.#step = new ProcessorStep(context);
    this.#late = new LateCompletions(context, (claim) => this.#claims.end(claim));
  }

  async run<Request, Prepared, Effect, Result>(
    operation: Operation<Request, Prepared, Effect, Result>,
    request: Request,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<Result>> {
    const giveUpAtMs = performance.now() + this.#claims.waitMs;
    for (let waits = 0; ; waits += 1) {
      try {
        return await this.#run(operation, request, key);
      } catch (error) {
        if (error instanceof ClaimEnded) {
          if (performance.now() > giveUpAtMs) throw keyInFlight();
          continue;
        }
        if (error instanceof RecoverFirst) {
          await error.recover();
          continue;
        }
        if (!(error instanceof ReservationHeld)) throw error;
        if (performance.now() > giveUpAtMs) throw error.unresolved;
        const claimed = { operation, request, hasKey: key !== undefined };
        const finished = await this.#finishHolder(claimed, error, giveUpAtMs).catch(endIfRecovered);
        if (typeof finished === 'object') return finished;
        if (finished === 'unknown')
          await setTimeout(Math.min(lookUpDelayMs * 2 ** waits, giveUpAtMs - performance.now()));
        await confirmCaller();
      }
    }
  }

  async #run<Request, Prepared, Effect, Result>(
    operation: Operation<Request, Prepared, Effect, Result>,
    request: Request,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<Result>> {
    const { crashPoints } = this.#context;
    await crashPoints.pass('claim.before');
    const { taken, lost } = await inSpan('claim', () => this.#take(operation, request, key));
    if (taken.state === 'completed') {
      const { resourceId, failure } = taken.claim;
      const replay = () => operation.replay(resourceId, taken.claim);
      // The first request may have died before it corrected the row.
      if (failure !== null) throw await this.#afterCorrection(declined(failure, true), replay);
      auditReplay(resourceId);
      return { result: await replay(), replayed: true };
    }
    await crashPoints.pass('claim.after');
    return this.#carryOutAndRespond({ operation, request, hasKey: key !== undefined }, taken, lost);
  }

  async #carryOutAndRespond<Request, Prepared, Effect, Result>(
    claimed: ClaimedRequest<Request, Prepared, Effect, Result>,
    taken: OwnClaim<Prepared>,
    lost: Effect | null,
  ): Promise<OperationResult<Result>> {
    const { crashPoints, logger } = this.#context;
    const { operation } = claimed;
    const { result, needsRefresh = false, failure, isFound } = await this.#carryOut(claimed, taken, lost);
    await crashPoints.pass('response.before');
    const isCurrent = !taken.isResumed && !needsRefresh && !isFound;
    const current = async () => (isCurrent ? result : refreshed(operation, result, taken.claim, logger));
    if (failure !== undefined) throw await this.#afterCorrection(declined(failure, false), current);
    return { result: await current(), replayed: isFound };
  }

  /** The charge was declined even if correcting the row fails. In that case a webhook corrects the row. */
  async #afterCorrection(failure: Failure, correct: () => Promise<unknown>): Promise<Failure> {
    await correct().catch((error: unknown) => {
      this.#context.logger.warn({ err: error }, 'correction after a declined charge failed');
    });
    return failure;
  }

  /**
   * Claims the idempotency key. A refusal by the operation may be an effect of the request itself: its claim was lost
   * in a failover or a restore, but the object that it created is back. In that case the method returns the object as
   * `lost`. It does the same if the operation first has to recover lost commits.
   */
  async #take<Request, Prepared, Effect, Result>(
    operation: Operation<Request, Prepared, Effect, Result>,
    request: Request,
    key: IdempotencyKey | undefined,
  ) {
    let refusal: unknown;
    const reserve = async (tx: Transaction, id: string, admission: Admission) => {
      if (!('reserve' in operation)) return undefined;
      return operation.reserve(tx, id, request, admission).catch((error: unknown) => {
        refusal = error;
        throw error;
      });
    };
    const parentId = operation.parentIdOf(request);
    const wanted = { operation: operation.name, key, request, parentId, reserve: undefined };
    try {
      const taken = await this.#claims.take<Prepared>(
        'reserve' in operation ? { ...wanted, reserve } : wanted,
      );
      return { taken, lost: null };
    } catch (error) {
      const isRefused = error === refusal && (error instanceof Failure || error instanceof RecoverFirst);
      const mayBeLost = isRefused && key !== undefined && !operation.isChange;
      const lost = mayBeLost ? await operation.find(this.#claims.preview(wanted)) : null;
      if (lost === null) throw error;
      return { taken: await this.#claims.take<Prepared>(wanted), lost };
    }
  }

  /**
   * Waits for the request that holds the reservation, or finishes its work if it was abandoned. `unknown`: whether that
   * work took effect is not known yet. Without an idempotency key, a caller repeats a request by sending the same
   * values again. So if neither request has an idempotency key and the values are the same, this request returns the
   * result of that work.
   */
  async #finishHolder<Request, Prepared, Effect, Result>(
    { operation, request, hasKey }: ClaimedRequest<Request, Prepared, Effect, Result>,
    { claimId, whenAbandoned, unresolved }: ReservationHeld,
    giveUpAtMs: number,
  ): Promise<OperationResult<Result> | 'ended' | 'unknown'> {
    const { database } = this.#context;
    const reserve =
      'reserve' in operation
        ? (tx: Transaction) => operation.reserve(tx, claimId, request, 'again')
        : undefined;
    const isSame = (claim: Claim) =>
      claim.operation === operation.name && claim.requestHash.equals(hashRequest(request));
    const canResume = (claim: Claim) =>
      whenAbandoned === 'resume' || (whenAbandoned === 'resume if same' && isSame(claim));
    const reserveFor = (claim: Claim) => (canResume(claim) ? reserve : undefined);
    const holder = await this.#claims.waitForHolder<Prepared>(claimId, reserveFor, giveUpAtMs);
    if (holder.state === 'unresolved') throw unresolved;
    if (holder.state === 'abandoned') {
      if (whenAbandoned === 'fail') throw unresolved;
      // Only the operation of the claim knows how to look up what it created. The sweeper knows all of them.
      if (holder.claim.operation !== operation.name) return 'unknown';
      const settled = await settleAbandoned(
        this.#context,
        operation,
        holder.claim,
        async () => 'nothing created',
      );
      return settled === 'nothing created' ? 'unknown' : 'ended';
    }
    if (holder.state === 'ours') {
      const isRepeated = !hasKey && isUnrepeatable(holder.claim) && isSame(holder.claim);
      // The first request may have called the processor, as with an idempotency key.
      const resumed = { operation, request, hasKey: true };
      try {
        if (isRepeated) return await this.#carryOutAndRespond(resumed, holder, null);
        await this.#carryOut({ ...resumed, isOther: true }, holder);
      } catch (error) {
        // The work of the holder waits for another claim, such as that of a plan whose `addOn` changes.
        if (error instanceof ReservationHeld) return 'unknown';
        if (!(error instanceof ClaimEnded)) throw error;
      }
      return 'ended';
    }
    await operation.finishReservation?.(claimId);
    // Usually the claim has already released the reservation.
    await database.transaction(async (tx) =>
      operation.release?.(tx, { resourceId: claimId, parentId: null }),
    );
    return 'ended';
  }

  /** The object of an earlier request with this idempotency key. */
  async findParent(
    { name }: { readonly name: string },
    key: IdempotencyKey,
  ): Promise<string | null | undefined> {
    const { claims, database } = this.#context;
    return (await claims.find(database, name, key))?.parentId;
  }

  /** Waits until the requests of these operations that are in progress now have ended. Fails if that takes too long. */
  waitForRunning(operations: readonly string[]): Promise<void> {
    return this.#claims.waitForRunning(operations);
  }

  /** Waits for work that continues after the responses. */
  stop(): Promise<void> {
    return this.#late.stop();
  }

  /** Carries out the operation, in its turn if it has one. */
  async #carryOut<Request, Prepared, Effect, Result>(
    claimed: ClaimedRequest<Request, Prepared, Effect, Result>,
    taken: OwnClaim<Prepared>,
    lost: Effect | null = null,
  ): Promise<CarriedOut<Result>> {
    const { operation } = claimed;
    const { claim, isResumed } = taken;
    if (operation.inTurn === undefined) return this.#carryOutNow(claimed, taken, lost);
    let hasBegun = false;
    try {
      return await operation.inTurn(claim, async (turn) => {
        if (turn.hasWaited) await this.#requireClaim(claim);
        hasBegun = true;
        return this.#carryOutNow(claimed, taken, lost, turn);
      });
    } catch (error) {
      if (!hasBegun) {
        // A new claim has made no call, so its idempotency key is freed, unless another request has resumed the claim.
        if (!isResumed) await this.#step.release(operation, claim).catch(() => {});
        await this.#giveUp(claim);
      }
      throw error;
    }
  }

  /** While a request waits for its turn, another one may resume its claim. */
  async #requireClaim(claim: Claim): Promise<void> {
    const { claims, database } = this.#context;
    if (!(await claims.renewLease(database, claim))) throw new ClaimEnded();
  }

  async #carryOutNow<Request, Prepared, Effect, Result>(
    claimed: ClaimedRequest<Request, Prepared, Effect, Result>,
    taken: OwnClaim<Prepared>,
    lost: Effect | null,
    turn?: WriteTurn,
  ): Promise<CarriedOut<Result>> {
    const { crashPoints } = this.#context;
    const { resourceId } = taken.claim;
    try {
      const preparation =
        lost === null ? await inSpan('prepare', () => this.#prepare(claimed, taken)) : { effect: lost };
      const effect =
        'effect' in preparation
          ? preparation.effect
          : await this.#step.make(claimed, preparation.prepared, taken);
      // No call is needed. A crash here leaves the same state as a crash after the call.
      if ('effect' in preparation) await crashPoints.pass('call.after');
      await crashPoints.pass('record.before');
      const isFound = (claimed.operation.idOf?.(effect) ?? resourceId) !== resourceId;
      const recorded = await inSpan('record', () => this.#record(claimed, effect, taken.claim, isFound));
      await crashPoints.pass('record.after');
      return { ...recorded, isFound };
    } catch (error) {
      const isRefused = claimed.operation.isLocal && error instanceof Failure;
      if (isRefused) await this.#step.release(claimed.operation, taken.claim).catch(() => {});
      if (await this.#giveUp(taken.claim)) turn?.leaveOpen(error);
      throw error;
    }
  }

  /**
   * Checks what the operation depends on. If the check fails because a dependency is gone, an object that an earlier
   * call created still counts, and the method returns it.
   */
  async #prepare<Request, Prepared, Effect, Result>(
    { operation, request, hasKey }: ClaimedRequest<Request, Prepared, Effect, Result>,
    taken: OwnClaim<Prepared>,
  ): Promise<{ readonly prepared: Prepared } | { readonly effect: Effect }> {
    const { claim, isResumed, reserved } = taken;
    if (!('prepare' in operation)) {
      if (reserved === undefined) throw new Error(`nothing was reserved for ${claim.resourceId}`);
      return { prepared: reserved };
    }
    try {
      const prepared = await operation.prepare(request, claim.resourceId, admissionOf(taken));
      await confirmCaller();
      return { prepared };
    } catch (error) {
      const mayHaveEffect = isResumed || (hasKey && !operation.isChange);
      const effect = mayHaveEffect ? await this.#step.find(operation, claim) : null;
      if (effect !== null) return { effect };
      // A new claim has made no call. A call of a resumed claim may be in flight for a while.
      if (!isResumed || claim.attemptAgeMs > callEndedMs)
        await this.#step.release(operation, claim).catch(() => {});
      throw error;
    }
  }

  async #record<Request, Prepared, Effect, Result>(
    { operation, request, isOther = false }: ClaimedRequest<Request, Prepared, Effect, Result>,
    effect: Effect,
    claim: StoredClaim,
    isFound: boolean,
  ): Promise<Recorded<Result>> {
    const { database, claims, crashPoints } = this.#context;
    // Requests share the statement that inserts rows, so it cannot contain the entry of the audit log.
    const isAlone = isFound || isAudited();
    const inserted = isAlone ? undefined : await operation.insert?.(claim.resourceId, effect, request);
    if (inserted !== undefined) {
      await crashPoints.pass('record.row');
      this.#late.add(claim);
      return { result: inserted };
    }
    const pass = crashPoints.pass.bind(crashPoints);
    const recorded = await database.transaction(async (tx) => {
      const written = await recordEffect({ tx, claims, pass }, operation, claim, effect);
      const ids = {
        createdId: operation.idOf?.(effect) ?? claim.resourceId,
        existingId: operation.existingIdOf?.(effect) ?? null,
      };
      if (!isOther && written.failure === undefined) auditOperation(tx, ids);
      return written;
    });
    this.#claims.end(claim);
    return recorded;
  }

  /**
   * Lets the next request with this idempotency key resume the claim at once. If this write also fails, the lease
   * expires. False if the claim is no longer open.
   */
  async #giveUp(claim: Claim): Promise<boolean> {
    const { claims, database } = this.#context;
    const isOpen = await claims.endLease(database, claim).catch(() => true);
    this.#claims.end(claim);
    return isOpen;
  }
}

/** Recovers the lost commits on which another request's claim depends. Then the request can start again. */
async function endIfRecovered(error: unknown): Promise<'ended'> {
  if (!(error instanceof RecoverFirst)) throw error;
  await error.recover();
  return 'ended';
}
