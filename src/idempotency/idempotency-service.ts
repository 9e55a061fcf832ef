import { setTimeout } from 'node:timers/promises';
import { Failure } from '../errors.ts';
import { confirmCaller } from '../platform/cause.ts';
import type { Logger } from '../platform/logger.ts';
import type { Transaction } from '../platform/postgres.ts';
import {
  type Claim,
  callEndedMs,
  hashRequest,
  type IdempotencyKey,
  processorKey,
  processorKeyLifeMs,
} from './claim.ts';
import { declined, keepsClaim, keyInFlight } from './claim-failures.ts';
import type { StoredClaim } from './claim-store.ts';
import { admissionOf, type ClaimParts, Claims, type OwnClaim } from './claims.ts';
import { LateCompletions } from './late-completions.ts';
import {
  type Operation,
  type OperationResult,
  type Recorded,
  ReservationHeld,
  refreshed,
  type WriteTurn,
} from './operation.ts';
import { settleAbandoned } from './settle-abandoned.ts';

/**
 * The delay after the first lookup that did not find what an abandoned claim created. It doubles with every further one, so
 * that a request looks at most six times.
 */
const lookUpDelayMs = 250;

interface IdempotencyParts extends ClaimParts {
  readonly logger: Logger;
}

/** A request with a claim. */
interface ClaimedRequest<Request, Prepared, Made, Result> {
  readonly operation: Operation<Request, Prepared, Made, Result>;
  readonly request: Request;
  readonly hasKey: boolean;
  /** The claim belongs to another request, whose values may differ. */
  readonly isOther?: boolean;
}

/** Creates and changes objects at the processor exactly once: claim, prepare, call with no open transaction, record, complete. */
export class IdempotencyService {
  readonly #parts: IdempotencyParts;
  readonly #claims: Claims;
  readonly #late: LateCompletions;

  constructor(parts: IdempotencyParts) {
    this.#parts = parts;
    this.#claims = new Claims(parts);
    this.#late = new LateCompletions({ ...parts, onEnd: (claim) => this.#claims.end(claim) });
  }

  async run<Request, Prepared, Made, Result>(
    operation: Operation<Request, Prepared, Made, Result>,
    request: Request,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<Result>> {
    const giveUpAtMs = performance.now() + this.#claims.waitMs;
    for (let waits = 0; ; waits += 1) {
      try {
        return await this.#run(operation, request, key);
      } catch (error) {
        if (error instanceof ClaimEnded) continue;
        if (!(error instanceof ReservationHeld)) throw error;
        if (performance.now() > giveUpAtMs) throw error.unresolved;
        const isUnknown = await this.#finishHolder(operation, request, error, giveUpAtMs);
        if (isUnknown) await setTimeout(Math.min(lookUpDelayMs * 2 ** waits, giveUpAtMs - performance.now()));
        await confirmCaller();
      }
    }
  }

  async #run<Request, Prepared, Made, Result>(
    operation: Operation<Request, Prepared, Made, Result>,
    request: Request,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<Result>> {
    const { crashPoints, logger } = this.#parts;
    await crashPoints.pass('claim.before');
    const taken = await this.#claims.take<Prepared>({
      operation: operation.name,
      key,
      request,
      parentId: operation.parentIdOf(request),
      reserve:
        'reserve' in operation
          ? (tx, id, admission) => operation.reserve(tx, id, request, admission)
          : undefined,
    });
    if (taken.state === 'completed') {
      if (taken.claim.failure !== null) throw declined(taken.claim.failure, true);
      return { result: await operation.replay(taken.claim.resourceId, taken.claim), replayed: true };
    }
    await crashPoints.pass('claim.after');
    const claimed = { operation, request, hasKey: key !== undefined };
    const { result, needsRefresh = false, failure } = await this.#carryOut(claimed, taken);
    await crashPoints.pass('answer.before');
    if (failure !== undefined) throw declined(failure, false);
    const isCurrent = !taken.isResumed && !needsRefresh;
    return { result: isCurrent ? result : await refreshed(operation, result, logger), replayed: false };
  }

  /**
   * Lets the request that holds the reservation finish, or finishes its work if it was abandoned. True if it is unknown
   * what became of that work.
   */
  async #finishHolder<Request, Prepared, Made, Result>(
    operation: Operation<Request, Prepared, Made, Result>,
    request: Request,
    { claimId, whenAbandoned, unresolved }: ReservationHeld,
    giveUpAtMs: number,
  ): Promise<boolean> {
    const { database } = this.#parts;
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
      if (holder.claim.operation !== operation.name) return true;
      const settled = await settleAbandoned(
        this.#parts,
        operation,
        holder.claim,
        async () => 'nothing created',
      );
      return settled === 'nothing created';
    }
    if (holder.state === 'ours') {
      await this.#carryOut({ operation, request, hasKey: true, isOther: true }, holder).catch((error) => {
        if (!(error instanceof ClaimEnded)) throw error;
      });
      return false;
    }
    // A completed claim leaves no reservation, unless a release that does not know of reservations completed it.
    const ended = { resourceId: claimId, parentId: null, attemptedAt: new Date(0), target: null };
    await database.transaction(async (tx) => operation.release?.(tx, ended));
    return false;
  }

  /** Waits for work that continues after the responses. */
  stop(): Promise<void> {
    return this.#late.stop();
  }

  /** Carries out the operation, in its turn if it has one. */
  async #carryOut<Request, Prepared, Made, Result>(
    claimed: ClaimedRequest<Request, Prepared, Made, Result>,
    taken: OwnClaim<Prepared>,
  ): Promise<Recorded<Result>> {
    const { operation } = claimed;
    const { claim, isResumed } = taken;
    if (operation.inTurn === undefined) return this.#carryOutNow(claimed, taken);
    let hasBegun = false;
    try {
      return await operation.inTurn(claim, async (turn) => {
        hasBegun = true;
        if (turn.hasWaited) await this.#requireClaim(claim);
        return this.#carryOutNow(claimed, taken, turn);
      });
    } catch (error) {
      if (!hasBegun) {
        // A new claim has made no call, and its key is free again.
        if (!isResumed) await this.#release(operation, claim).catch(() => {});
        await this.#giveUp(claim);
      }
      throw error;
    }
  }

  /** While a request waits for its turn, another one may resume its claim. */
  async #requireClaim(claim: Claim): Promise<void> {
    const { claims, database } = this.#parts;
    if (await claims.renewLease(database, claim)) return;
    this.#claims.end(claim);
    throw new ClaimEnded();
  }

  async #carryOutNow<Request, Prepared, Made, Result>(
    claimed: ClaimedRequest<Request, Prepared, Made, Result>,
    taken: OwnClaim<Prepared>,
    turn?: WriteTurn,
  ): Promise<Recorded<Result>> {
    const { crashPoints } = this.#parts;
    const { claim } = taken;
    try {
      const preparation = await this.#prepare(claimed, taken);
      const made =
        'made' in preparation ? preparation.made : await this.#make(claimed, preparation.prepared, taken);
      await crashPoints.pass('record.before');
      const recorded = await this.#record(claimed, made, claim);
      await crashPoints.pass('record.after');
      return recorded;
    } catch (error) {
      if (await this.#giveUp(claim)) turn?.leaveOpen(error);
      throw error;
    }
  }

  /**
   * Checks what the operation depends on. If the check fails because a dependency is gone, an object that an earlier
   * call created still counts, and the method returns it.
   */
  async #prepare<Request, Prepared, Made, Result>(
    { operation, request }: ClaimedRequest<Request, Prepared, Made, Result>,
    taken: OwnClaim<Prepared>,
  ): Promise<{ readonly prepared: Prepared } | { readonly made: Made }> {
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
      const made = isResumed ? await operation.find(claim) : null;
      if (made !== null) return { made };
      // A new claim has made no call. A call of a resumed claim may be in flight for a while.
      if (!isResumed || claim.attemptAgeMs > callEndedMs)
        await this.#release(operation, claim).catch(() => {});
      throw error;
    }
  }

  async #make<Request, Prepared, Made, Result>(
    claimed: ClaimedRequest<Request, Prepared, Made, Result>,
    prepared: Prepared,
    { claim, isResumed }: OwnClaim<Prepared>,
  ): Promise<Made> {
    if (claim.attemptAgeMs > processorKeyLifeMs) return this.#findOrRetry(claimed, prepared, claim);
    try {
      return await this.#call(claimed, prepared, claim, isResumed);
    } catch (error) {
      if (error instanceof Failure && error.extras.replayed === true) {
        return this.#findOrRetry(claimed, prepared, claim);
      }
      throw error;
    }
  }

  /** The processor has forgotten the key, or replays a failure for it. Only a lookup shows what it created. */
  async #findOrRetry<Request, Prepared, Made, Result>(
    claimed: ClaimedRequest<Request, Prepared, Made, Result>,
    prepared: Prepared,
    claim: Claim,
  ): Promise<Made> {
    const { claims, database } = this.#parts;
    const found = await claimed.operation.find(claim);
    if (found !== null) return found;
    const next = await claims.nextAttempt(database, claim);
    if (next === undefined) throw keyInFlight();
    return this.#call(claimed, prepared, next, false);
  }

  async #call<Request, Prepared, Made, Result>(
    { operation, request, hasKey, isOther = false }: ClaimedRequest<Request, Prepared, Made, Result>,
    prepared: Prepared,
    claim: Claim,
    isRepeated: boolean,
  ): Promise<Made> {
    const { crashPoints, claims, database } = this.#parts;
    await crashPoints.pass('call.before');
    try {
      const choose = async (target: string): Promise<void> => {
        if (!(await claims.setTarget(database, claim, target))) throw keyInFlight();
      };
      const { resourceId: id, target } = claim;
      const write = { id, idempotencyKey: processorKey(claim), isRepeated, target, choose };
      const made = await operation.call(request, prepared, write);
      await crashPoints.pass('call.after');
      return made;
    } catch (error) {
      // A refusal of these values says nothing about a call that another request made with its own.
      const keeps = isOther || !(error instanceof Failure) || keepsClaim(error, hasKey);
      if (!keeps) await this.#release(operation, claim);
      throw error;
    }
  }

  async #record<Request, Prepared, Made, Result>(
    { operation, request }: ClaimedRequest<Request, Prepared, Made, Result>,
    made: Made,
    claim: StoredClaim,
  ): Promise<Recorded<Result>> {
    const { database, claims, crashPoints } = this.#parts;
    const inserted = await operation.insert?.(claim.resourceId, made, request);
    if (inserted !== undefined) {
      await crashPoints.pass('record.row');
      this.#late.add(claim);
      return { result: inserted };
    }
    const recorded = await database.transaction(async (tx) => {
      // The claim comes first in every transaction: two transactions that lock in different orders can deadlock.
      await claims.complete(tx, [claim]);
      const existingId = operation.existingIdOf?.(made) ?? null;
      if (existingId !== null) await claims.setParent(tx, claim, existingId);
      await crashPoints.pass('record.completed');
      const written = await operation.record(tx, claim.resourceId, made);
      if (written.failure !== undefined) await claims.setFailure(tx, claim, written.failure);
      await crashPoints.pass('record.row');
      return written;
    });
    this.#claims.end(claim);
    return recorded;
  }

  /** Frees the key and the reservation, unless another process has resumed the claim. */
  async #release(
    operation: { release?(tx: Transaction, claim: Claim): Promise<void> },
    claim: Claim,
  ): Promise<void> {
    const { claims, database } = this.#parts;
    await database.transaction(async (tx) => {
      if (await claims.remove(tx, claim)) await operation.release?.(tx, claim);
    });
  }

  /**
   * Lets the next request with this key resume at once. If this write also fails, the lease expires. False if the claim is
   * no longer open.
   */
  async #giveUp(claim: Claim): Promise<boolean> {
    const { claims, database } = this.#parts;
    const isOpen = await claims.endLease(database, claim).catch(() => true);
    this.#claims.end(claim);
    return isOpen;
  }
}

/** The claim of a request that waited for its turn is completed, or belongs to another request now. */
class ClaimEnded extends Error {
  override readonly name = 'ClaimEnded';
}
