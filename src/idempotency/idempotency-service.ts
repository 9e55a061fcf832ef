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

/** A request that holds its claim. */
interface Order<Request, Prepared, Made, Result> {
  readonly creation: Creation<Request, Prepared, Made, Result>;
  readonly request: Request;
  readonly hasKey: boolean;
}

/** Creates objects at the processor exactly once: claim, prepare, call with no transaction open, record and complete. */
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
      return { result: await creation.replay(taken.claim.resourceId), replayed: true };
    }
    await crashPoints.pass('claim.after');
    const result = await this.#carryOut({ creation, request, hasKey: key !== undefined }, taken);
    if (taken.isResumed) await refreshQuietly(creation, result, logger);
    await crashPoints.pass('answer.before');
    return { result, replayed: false };
  }

  /** Waits for the work that continues after responses. */
  stop(): Promise<void> {
    return this.#late.stop();
  }

  async #carryOut<Request, Prepared, Made, Result>(
    order: Order<Request, Prepared, Made, Result>,
    taken: OwnClaim<Prepared>,
  ): Promise<Result> {
    const { crashPoints } = this.#parts;
    const { claim } = taken;
    try {
      const preparation = await this.#prepare(order, taken);
      const made =
        'made' in preparation ? preparation.made : await this.#make(order, preparation.prepared, claim);
      await crashPoints.pass('record.before');
      const result = await this.#record(order, made, claim);
      await crashPoints.pass('record.after');
      return result;
    } catch (error) {
      await this.#giveUp(claim);
      throw error;
    }
  }

  /**
   * Checks what the creation depends on. If that has gone since an earlier call, what the call created still counts: it
   * is looked up and returned.
   */
  async #prepare<Request, Prepared, Made, Result>(
    { creation, request }: Order<Request, Prepared, Made, Result>,
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
      // A new claim has led to no call yet. For an older one, that is certain only after a while.
      if (!isResumed || claim.attemptAgeMs > callEndedMs)
        await this.#release(creation, claim).catch(() => {});
      throw error;
    }
  }

  async #make<Request, Prepared, Made, Result>(
    order: Order<Request, Prepared, Made, Result>,
    prepared: Prepared,
    claim: StoredClaim,
  ): Promise<Made> {
    if (claim.attemptAgeMs > processorKeyLifeMs) return this.#findOrRetry(order, prepared, claim);
    try {
      return await this.#call(order, prepared, claim);
    } catch (error) {
      if (error instanceof Failure && error.extras.replayed === true) {
        return this.#findOrRetry(order, prepared, claim);
      }
      throw error;
    }
  }

  /** The processor has forgotten the key, or remembers a failure under it: only a look-up tells what it did. */
  async #findOrRetry<Request, Prepared, Made, Result>(
    order: Order<Request, Prepared, Made, Result>,
    prepared: Prepared,
    claim: Claim,
  ): Promise<Made> {
    const { claims, database } = this.#parts;
    const found = await order.creation.find(claim);
    if (found !== null) return found;
    const next = await claims.nextAttempt(database, claim);
    if (next === undefined) throw keyInFlight();
    return this.#call(order, prepared, next);
  }

  async #call<Request, Prepared, Made, Result>(
    { creation, request, hasKey }: Order<Request, Prepared, Made, Result>,
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
    { creation, request }: Order<Request, Prepared, Made, Result>,
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
      // The claim first, as in every transaction: two transactions that lock in different orders can deadlock.
      await claims.complete(tx, [claim]);
      await crashPoints.pass('record.completed');
      const recorded = await creation.record(tx, claim.resourceId, made);
      await crashPoints.pass('record.row');
      return recorded;
    });
    this.#claims.end(claim);
    return result;
  }

  /** Frees the key and the reservation, unless another process works on the claim by now. */
  async #release(
    creation: { release?(tx: Transaction, claim: Claim): Promise<void> },
    claim: Claim,
  ): Promise<void> {
    const { claims, database } = this.#parts;
    await database.transaction(async (tx) => {
      if (await claims.remove(tx, claim)) await creation.release?.(tx, claim);
    });
  }

  /** Lets the next request with this key resume at once. If that cannot be written either, the lease expires by itself. */
  async #giveUp(claim: Claim): Promise<void> {
    const { claims, database } = this.#parts;
    await claims.endLease(database, claim).catch(() => {});
    this.#claims.end(claim);
  }
}
