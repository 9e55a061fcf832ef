import { Failure } from '../errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { Transaction } from '../platform/postgres.ts';
import { type Claim, callEndedMs, processorKey, processorKeyLifeMs } from './claim.ts';
import { keepsClaim, keyInFlight } from './claim-failures.ts';
import type { StoredClaim } from './claim-store.ts';
import { type ClaimParts, Claims, type OwnClaim } from './claims.ts';
import { type Created, type Creation, refreshQuietly } from './creation.ts';
import { LateCompletions } from './late-completions.ts';

interface IdempotencyParts extends ClaimParts {
  readonly logger: Logger;
}

/** A request with a claim. */
interface ClaimedRequest<Request, Prepared, Made, Result> {
  readonly creation: Creation<Request, Prepared, Made, Result>;
  readonly request: Request;
  readonly hasKey: boolean;
}

/** Creates objects at the processor exactly once: claim, prepare, call with no open transaction, record, complete. */
export class IdempotencyService {
  readonly #parts: IdempotencyParts;
  readonly #claims: Claims;
  readonly #late: LateCompletions;

  constructor(parts: IdempotencyParts) {
    this.#parts = parts;
    this.#claims = new Claims(parts);
    this.#late = new LateCompletions({ ...parts, onEnd: (claim) => this.#claims.end(claim) });
  }

  async create<Request, Prepared, Made, Result>(
    creation: Creation<Request, Prepared, Made, Result>,
    request: Request,
    key: string | undefined,
  ): Promise<Created<Result>> {
    const { crashPoints, logger } = this.#parts;
    await crashPoints.pass('claim.before');
    const taken = await this.#claims.take<Prepared>({
      operation: creation.operation,
      key,
      request,
      parentId: creation.parentIdOf(request),
      reserve: 'reserve' in creation ? (tx, id) => creation.reserve(tx, id, request) : undefined,
    });
    if (taken.state === 'completed') {
      const { resourceId, parentId } = taken.claim;
      return { result: await creation.replay(resourceId, parentId), replayed: true };
    }
    await crashPoints.pass('claim.after');
    const result = await this.#carryOut({ creation, request, hasKey: key !== undefined }, taken);
    if (taken.isResumed) await refreshQuietly(creation, result, logger);
    await crashPoints.pass('answer.before');
    return { result, replayed: false };
  }

  /** Waits for work that continues after the responses. */
  stop(): Promise<void> {
    return this.#late.stop();
  }

  async #carryOut<Request, Prepared, Made, Result>(
    claimed: ClaimedRequest<Request, Prepared, Made, Result>,
    taken: OwnClaim<Prepared>,
  ): Promise<Result> {
    const { crashPoints } = this.#parts;
    const { claim } = taken;
    try {
      const preparation = await this.#prepare(claimed, taken);
      const made =
        'made' in preparation ? preparation.made : await this.#make(claimed, preparation.prepared, claim);
      await crashPoints.pass('record.before');
      const result = await this.#record(claimed, made, claim);
      await crashPoints.pass('record.after');
      return result;
    } catch (error) {
      await this.#giveUp(claim);
      throw error;
    }
  }

  /**
   * Checks what the creation depends on. If the check fails because a dependency is gone, an object that an earlier
   * call created still counts, and the method returns it.
   */
  async #prepare<Request, Prepared, Made, Result>(
    { creation, request }: ClaimedRequest<Request, Prepared, Made, Result>,
    { claim, isResumed, reserved }: OwnClaim<Prepared>,
  ): Promise<{ readonly prepared: Prepared } | { readonly made: Made }> {
    if ('reserve' in creation) {
      if (reserved === undefined) throw new Error(`nothing was reserved for ${claim.resourceId}`);
      return { prepared: reserved };
    }
    try {
      return { prepared: await creation.prepare(request) };
    } catch (error) {
      const made = isResumed ? await creation.find(claim) : null;
      if (made !== null) return { made };
      // A new claim has made no call. A call of a resumed claim may be in flight for a while.
      if (!isResumed || claim.attemptAgeMs > callEndedMs)
        await this.#release(creation, claim).catch(() => {});
      throw error;
    }
  }

  async #make<Request, Prepared, Made, Result>(
    claimed: ClaimedRequest<Request, Prepared, Made, Result>,
    prepared: Prepared,
    claim: StoredClaim,
  ): Promise<Made> {
    if (claim.attemptAgeMs > processorKeyLifeMs) return this.#findOrRetry(claimed, prepared, claim);
    try {
      return await this.#call(claimed, prepared, claim);
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
    const found = await claimed.creation.find(claim);
    if (found !== null) return found;
    const next = await claims.nextAttempt(database, claim);
    if (next === undefined) throw keyInFlight();
    return this.#call(claimed, prepared, next);
  }

  async #call<Request, Prepared, Made, Result>(
    { creation, request, hasKey }: ClaimedRequest<Request, Prepared, Made, Result>,
    prepared: Prepared,
    claim: Claim,
  ): Promise<Made> {
    const { crashPoints } = this.#parts;
    await crashPoints.pass('call.before');
    try {
      const write = { id: claim.resourceId, idempotencyKey: processorKey(claim) };
      const made = await creation.call(request, prepared, write);
      await crashPoints.pass('call.after');
      return made;
    } catch (error) {
      const keeps = !(error instanceof Failure) || keepsClaim(error, hasKey);
      if (!keeps) await this.#release(creation, claim);
      throw error;
    }
  }

  async #record<Request, Prepared, Made, Result>(
    { creation, request }: ClaimedRequest<Request, Prepared, Made, Result>,
    made: Made,
    claim: StoredClaim,
  ): Promise<Result> {
    const { database, claims, crashPoints } = this.#parts;
    const inserted = await creation.insert?.(claim.resourceId, made, request);
    if (inserted !== undefined) {
      await crashPoints.pass('record.row');
      this.#late.add(claim);
      return inserted;
    }
    const result = await database.transaction(async (tx) => {
      // The claim comes first in every transaction: two transactions that lock in different orders can deadlock.
      await claims.complete(tx, [claim]);
      await crashPoints.pass('record.completed');
      const recorded = await creation.record(tx, claim.resourceId, made);
      await crashPoints.pass('record.row');
      return recorded;
    });
    this.#claims.end(claim);
    return result;
  }

  /** Frees the key and the reservation, unless another process has resumed the claim. */
  async #release(
    creation: { release?(tx: Transaction, claim: Claim): Promise<void> },
    claim: Claim,
  ): Promise<void> {
    const { claims, database } = this.#parts;
    await database.transaction(async (tx) => {
      if (await claims.remove(tx, claim)) await creation.release?.(tx, claim);
    });
  }

  /** Lets the next request with this key resume at once. If this write also fails, the lease expires. */
  async #giveUp(claim: Claim): Promise<void> {
    const { claims, database } = this.#parts;
    await claims.endLease(database, claim).catch(() => {});
    this.#claims.end(claim);
  }
}
