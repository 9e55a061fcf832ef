import { Failure } from '../errors.ts';
import type { Transaction } from '../platform/postgres.ts';
import { type Claim, processorKey, processorKeyLifeMs } from './claim.ts';
import { isKeyReused, keepsClaim, keyInFlight } from './claim-failures.ts';
import type { ClaimParts, OwnClaim } from './claims.ts';
import type { Operation } from './operation.ts';

/**
 * How many processor keys one request may use. The processor remembers each refusal under its key, so that every refusal of
 * today has used one up. The next request continues after them.
 */
const suffixesMax = 10;

/** The processor may have failed long ago under one key. If it also fails under the next one, it fails now. */
const failuresMax = 1;

/** A request with a claim. */
export interface ClaimedRequest<Request, Prepared, Made, Result> {
  readonly operation: Operation<Request, Prepared, Made, Result>;
  readonly request: Request;
  readonly hasKey: boolean;
  /** The claim belongs to another request, whose values may differ. */
  readonly isOther?: boolean;
}

/** The step between the claim and the record: calls the processor, or looks up what an earlier call has created. */
export class ProcessorStep {
  readonly #parts: ClaimParts;

  constructor(parts: ClaimParts) {
    this.#parts = parts;
  }

  /**
   * Calls the processor under the next of its keys until one of them is not used up. The processor refuses a key that was
   * used with other values, and repeats a failure or a refusal. It forgets keys after a day. In all these cases only a
   * lookup shows what was created, perhaps by a request whose claim is lost.
   */
  async make<Request, Prepared, Made, Result>(
    claimed: ClaimedRequest<Request, Prepared, Made, Result>,
    prepared: Prepared,
    { claim, isResumed }: OwnClaim<Prepared>,
  ): Promise<Made> {
    const { claims, database, crashPoints } = this.#parts;
    let current = claim;
    let failures = 0;
    for (let suffixes = 1; ; suffixes += 1) {
      try {
        if (current.attemptAgeMs <= processorKeyLifeMs)
          return await this.#call(claimed, prepared, current, isResumed && current === claim);
      } catch (error) {
        if (isFailure(error)) failures += 1;
        if (!isUsedUp(error) || suffixes >= suffixesMax || failures > failuresMax) throw error;
      }
      const found = await this.find(claimed.operation, current);
      if (found !== null) {
        await crashPoints.pass('call.after');
        return found;
      }
      const next = await claims.nextAttempt(database, current);
      if (next === undefined) throw keyInFlight();
      current = next;
    }
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
      const { resourceId: id, target, mark } = claim;
      const write = { id, idempotencyKey: processorKey(claim), mark, hasKey, isRepeated, target, choose };
      const made = await operation.call(request, prepared, write);
      await crashPoints.pass('call.after');
      return made;
    } catch (error) {
      // A refusal of these values says nothing about a call that another request made with its own.
      const keeps = isOther || !(error instanceof Failure) || isUsedUp(error) || keepsClaim(error, hasKey);
      if (!keeps) await this.release(operation, claim);
      throw error;
    }
  }

  /** Frees the key if it belongs to a different request, whose claim is lost. */
  async find<Request, Prepared, Made, Result>(
    operation: Operation<Request, Prepared, Made, Result>,
    claim: Claim,
  ): Promise<Made | null> {
    try {
      return await operation.find(claim);
    } catch (error) {
      if (isKeyReused(error)) await this.release(operation, claim);
      throw error;
    }
  }

  /** Frees the key and the reservation, unless another process has resumed the claim. */
  async release(
    operation: { release?(tx: Transaction, claim: Claim): Promise<void> },
    claim: Claim,
  ): Promise<void> {
    const { claims, database } = this.#parts;
    await database.transaction(async (tx) => {
      if (await claims.remove(tx, claim)) await operation.release?.(tx, claim);
    });
  }
}

/** The processor has something else stored under its key, and repeats it for a day. */
function isUsedUp(error: unknown): boolean {
  return error instanceof Failure && error.extras.replayed === true;
}

function isFailure(error: unknown): boolean {
  return error instanceof Failure && error.code === 'processor_unavailable';
}
