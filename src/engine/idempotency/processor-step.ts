import { Failure, isKeyUsedUp } from '#core/errors.ts';
import type { Transaction } from '#core/platform/postgres.ts';
import { type Claim, type CrashPoints, processorKey, processorKeyLifeMs } from './claim.ts';
import { ClaimEnded, isKeyReused, keepsClaim, keyInFlight } from './claim-failures.ts';
import type { ClaimStore } from './claim-store.ts';
import type { ClaimContext, OwnClaim } from './claims.ts';
import type { Operation, Recorded } from './operation.ts';

/**
 * How many processor keys one request may use. The processor remembers a refusal under its key for a day, so each
 * refusal uses up one processor key. The next request continues with the one after them.
 */
const suffixesMax = 10;

/** A failure under one processor key may be an old one, repeated. A failure under the next one is new. */
const failuresMax = 1;

/** A request with a claim. */
export interface ClaimedRequest<Request, Prepared, Effect, Result> {
  readonly operation: Operation<Request, Prepared, Effect, Result>;
  readonly request: Request;
  readonly hasKey: boolean;
  /** The claim belongs to another request, whose values may differ. */
  readonly isOther?: boolean;
}

/** The step between the claim and the record. Calls the processor, or looks up what an earlier call created. */
export class ProcessorStep {
  readonly #context: ClaimContext;

  constructor(context: ClaimContext) {
    this.#context = context;
  }

  /**
   * Calls the processor under one processor key after another, until one is not used up. The processor refuses a
   * processor key that was used with other values, and repeats a failure or a refusal. It forgets processor keys after
   * a day. In all these cases only a lookup shows what was created, perhaps by a request whose claim is lost.
   */
  async make<Request, Prepared, Effect, Result>(
    claimed: ClaimedRequest<Request, Prepared, Effect, Result>,
    prepared: Prepared,
    taken: OwnClaim<Prepared>,
  ): Promise<Effect> {
    const { claims, database, crashPoints } = this.#context;
    let failures = 0;
    for (let suffixes = 1; ; suffixes += 1) {
      try {
        if (taken.claim.attemptAgeMs <= processorKeyLifeMs)
          return await this.#call(claimed, prepared, taken.claim, taken.isResumed && suffixes === 1);
      } catch (error) {
        if (isFailure(error)) failures += 1;
        if (!isKeyUsedUp(error) || suffixes >= suffixesMax || failures > failuresMax) throw error;
      }
      const found = await this.find(claimed.operation, taken.claim);
      if (found !== null) {
        await crashPoints.pass('call.after');
        return found;
      }
      const next = await claims.nextAttempt(database, taken.claim);
      if (next === undefined) throw keyInFlight();
      taken.claim = next;
    }
  }

  async #call<Request, Prepared, Effect, Result>(
    { operation, request, hasKey, isOther = false }: ClaimedRequest<Request, Prepared, Effect, Result>,
    prepared: Prepared,
    claim: Claim,
    isRepeated: boolean,
  ): Promise<Effect> {
    const { crashPoints, claims, database } = this.#context;
    await crashPoints.pass('call.before');
    try {
      const choose = async (target: string): Promise<void> => {
        if (!(await claims.setTarget(database, claim, target))) throw keyInFlight();
      };
      const { resourceId: id, target, mark } = claim;
      const write = { id, idempotencyKey: processorKey(claim), mark, hasKey, isRepeated, target, choose };
      const effect = await operation.call(request, prepared, write);
      await crashPoints.pass('call.after');
      return effect;
    } catch (error) {
      // A refusal of these values says nothing about the call of another request with other values.
      const keeps = isOther || !(error instanceof Failure) || isKeyUsedUp(error) || keepsClaim(error, hasKey);
      if (!keeps) await this.release(operation, claim);
      throw error;
    }
  }

  /** Frees the idempotency key if a different request used it and its claim is lost. */
  async find<Request, Prepared, Effect, Result>(
    operation: Operation<Request, Prepared, Effect, Result>,
    claim: Claim,
  ): Promise<Effect | null> {
    try {
      return await operation.find(claim);
    } catch (error) {
      if (isKeyReused(error)) await this.release(operation, claim);
      throw error;
    }
  }

  /** Frees the idempotency key and the reservation, unless another process has resumed the claim. */
  async release(
    operation: { release?(tx: Transaction, claim: Claim): Promise<void> },
    claim: Claim,
  ): Promise<void> {
    const { claims, database } = this.#context;
    await database.transaction(async (tx) => {
      if (await claims.remove(tx, claim)) await operation.release?.(tx, claim);
    });
  }
}

function isFailure(error: unknown): boolean {
  return error instanceof Failure && error.code === 'processor_unavailable';
}

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
