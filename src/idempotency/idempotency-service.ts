import { setTimeout } from 'node:timers/promises';
import { Failure } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { newId } from '../platform/id.ts';
import type { Logger } from '../platform/logger.ts';
import type { Database, Transaction } from '../platform/postgres.ts';
import { isGone, type Presence } from '../platform/presence.ts';
import { refreshQuietly } from './adoption.ts';
import { type Claim, callEndedMs, hashRequest, processorKey, processorKeyLifeMs } from './claim.ts';
import type { ClaimStore, NewClaim, StoredClaim } from './claim-store.ts';
import type { Created, Creation } from './creation.ts';
import { keepsClaim } from './keeps-claim.ts';
import { LateCompletions } from './late-completions.ts';
import type { Marks } from './marks.ts';
import { SharedClaims } from './shared-claims.ts';

/** How long a request waits for another one with the same key: as long as a call to the processor may take. */
const waitMsDefault = 10_000;
const pollDelayMs = 20;
const pollDelayMsMax = 250;

type Standing =
  | { readonly state: 'ours'; readonly claim: StoredClaim; readonly isResumed: boolean }
  | { readonly state: 'completed'; readonly claim: StoredClaim }
  | { readonly state: 'running' };

interface IdempotencyParts {
  readonly database: Database;
  readonly claims: ClaimStore;
  readonly presence: Presence;
  readonly clock: Clock;
  readonly marks: Marks;
  readonly logger: Logger;
  /** For tests, which cannot wait as long as people can. */
  readonly waitMs?: number;
}

/** Makes things at the processor exactly once: claim, call with no transaction open, record and complete. */
export class IdempotencyService {
  readonly #parts: IdempotencyParts;
  /** What this process is at work on: a claim of ours that is not in here was given up. */
  readonly #running = new Set<string>();
  readonly #shared: SharedClaims;
  readonly #late: LateCompletions;

  constructor(parts: IdempotencyParts) {
    this.#parts = parts;
    this.#shared = new SharedClaims(parts.database, parts.claims);
    this.#late = new LateCompletions({
      ...parts,
      onEnd: ({ resourceId }) => this.#running.delete(resourceId),
    });
  }

  async create<Made, Result>(creation: Creation<Made, Result>): Promise<Created<Result>> {
    const { marks, waitMs = waitMsDefault } = this.#parts;
    const giveUpAtMs = performance.now() + waitMs;
    const requestHash = hashRequest(creation.request);
    for (let delayMs = pollDelayMs; ; delayMs = Math.min(delayMs * 2, pollDelayMsMax)) {
      await marks.pass('claim.before');
      const standing =
        (delayMs === pollDelayMs ? await this.#claimAtOnce(creation, requestHash) : undefined) ??
        (await this.#claim(creation, requestHash));
      if (standing.state === 'completed') {
        return { result: await creation.replay(standing.claim.resourceId), replayed: true };
      }
      if (standing.state === 'ours') {
        await marks.pass('claim.after');
        const result = await this.#carryOut(creation, standing);
        if (standing.isResumed) await refreshQuietly(creation, result, this.#parts.logger);
        await marks.pass('answer.before');
        return { result, replayed: false };
      }
      if (performance.now() + delayMs > giveUpAtMs) throw inFlight();
      await setTimeout(delayMs);
    }
  }

  /** Waits for what goes on after the answers. */
  stop(): Promise<void> {
    return this.#late.stop();
  }

  async #claim<Made, Result>(creation: Creation<Made, Result>, requestHash: Buffer): Promise<Standing> {
    let claimed: string | undefined;
    try {
      return await this.#parts.database.transaction(async (tx) => {
        const standing = await this.#stand(tx, creation, requestHash);
        if (standing.state !== 'ours') return standing;
        claimed = standing.claim.resourceId;
        await creation.reserve?.(tx, claimed);
        await this.#parts.marks.pass('claim.prepared');
        // Before the commit, because others see the claim a moment before we learn that it is committed.
        this.#running.add(claimed);
        return standing;
      });
    } catch (error) {
      if (claimed !== undefined) this.#running.delete(claimed);
      throw error;
    }
  }

  /** Most keys are new, and most creations reserve nothing: then one statement will do. Undefined if the key is taken. */
  async #claimAtOnce<Made, Result>(
    creation: Creation<Made, Result>,
    requestHash: Buffer,
  ): Promise<Standing | undefined> {
    if (creation.reserve !== undefined) return undefined;
    const { marks } = this.#parts;
    const claim = this.#newClaim(creation, requestHash);
    let inserted: StoredClaim | undefined;
    // Before the statement, because others see the claim a moment before we learn that it is committed.
    this.#running.add(claim.resourceId);
    try {
      await marks.pass('claim.prepared');
      inserted = await this.#shared.insert(claim);
    } finally {
      if (inserted === undefined) this.#running.delete(claim.resourceId);
    }
    return inserted && { state: 'ours', claim: inserted, isResumed: false };
  }

  #newClaim<Made, Result>(
    { operation, key, parentId }: Creation<Made, Result>,
    requestHash: Buffer,
  ): NewClaim {
    const { presence, clock } = this.#parts;
    const resourceId = newId(clock.now());
    return { operation, key: key ?? resourceId, requestHash, resourceId, parentId, owner: presence.owner };
  }

  /** Where the request stands: it may go on, it was completed before, or another one is at work on it. */
  async #stand<Made, Result>(
    tx: Transaction,
    creation: Creation<Made, Result>,
    requestHash: Buffer,
  ): Promise<Standing> {
    const { claims } = this.#parts;
    const newClaim = this.#newClaim(creation, requestHash);
    const [inserted] = await claims.insert(tx, [newClaim]);
    if (inserted !== undefined) return { state: 'ours', claim: inserted, isResumed: false };
    const claim = await claims.lock(tx, newClaim.operation, newClaim.key);
    // Refused and removed between the two statements: its place is free again.
    if (claim === undefined) return { state: 'running' };
    if (!claim.requestHash.equals(requestHash)) throw reused();
    if (claim.completedAt !== null) return { state: 'completed', claim };
    if (await this.#isAtWork(tx, claim)) return { state: 'running' };
    return { state: 'ours', claim: await claims.takeOver(tx, claim, newClaim.owner), isResumed: true };
  }

  async #isAtWork(tx: Transaction, claim: StoredClaim): Promise<boolean> {
    // Past its lease as well: a process always knows what it is at work on itself.
    if (this.#running.has(claim.resourceId)) return true;
    if (!claim.isLeased || claim.owner === this.#parts.presence.owner) return false;
    return !(await isGone(tx, claim.owner));
  }

  async #carryOut<Made, Result>(
    creation: Creation<Made, Result>,
    { claim, isResumed }: Extract<Standing, { state: 'ours' }>,
  ): Promise<Result> {
    const { marks } = this.#parts;
    try {
      const made = (await this.#check(creation, claim, isResumed)) ?? (await this.#make(creation, claim));
      await marks.pass('record.before');
      const result = await this.#record(creation, claim, made);
      await marks.pass('record.after');
      return result;
    } catch (error) {
      await this.#giveUp(claim);
      throw error;
    }
  }

  async #record<Made, Result>(
    creation: Creation<Made, Result>,
    claim: StoredClaim,
    made: Made,
  ): Promise<Result> {
    const { database, claims, marks } = this.#parts;
    const inserted = await creation.insert?.(claim.resourceId, made);
    if (inserted !== undefined) {
      await marks.pass('record.row');
      this.#late.add(claim);
      return inserted;
    }
    const result = await database.transaction(async (tx) => {
      // The claim first, as in every transaction: two who lock in different orders could wait for each other.
      await claims.complete(tx, [claim]);
      await marks.pass('record.completed');
      const recorded = await creation.record(tx, claim.resourceId, made);
      await marks.pass('record.row');
      return recorded;
    });
    this.#running.delete(claim.resourceId);
    return result;
  }

  /**
   * Checks what the creation leans on. Where that has gone since an earlier try, what was made by then still counts: it is
   * looked up, and returned.
   */
  async #check<Made, Result>(
    creation: Creation<Made, Result>,
    claim: StoredClaim,
    isResumed: boolean,
  ): Promise<Made | null> {
    try {
      await creation.check?.();
      return null;
    } catch (error) {
      const made = isResumed ? await creation.find(claim.resourceId, claim.attemptedAt) : null;
      if (made !== null) return made;
      // A claim that was made just now has led to nothing yet. Of an older one that is sure only after a while.
      if (!isResumed || claim.attemptAgeMs > callEndedMs)
        await this.#release(creation, claim).catch(() => {});
      throw error;
    }
  }

  async #make<Made, Result>(creation: Creation<Made, Result>, claim: StoredClaim): Promise<Made> {
    if (claim.attemptAgeMs > processorKeyLifeMs) return this.#findOrRetry(creation, claim);
    try {
      return await this.#call(creation, claim);
    } catch (error) {
      if (error instanceof Failure && error.extras.replayed === true) {
        return this.#findOrRetry(creation, claim);
      }
      throw error;
    }
  }

  /** The processor's memory of the key is gone or spoilt: only what can be looked up tells what it did. */
  async #findOrRetry<Made, Result>(creation: Creation<Made, Result>, claim: Claim): Promise<Made> {
    const { claims, database } = this.#parts;
    const found = await creation.find(claim.resourceId, claim.attemptedAt);
    if (found !== null) return found;
    const next = await claims.nextAttempt(database, claim);
    if (next === undefined) throw inFlight();
    return this.#call(creation, next);
  }

  async #call<Made, Result>(creation: Creation<Made, Result>, claim: Claim): Promise<Made> {
    const { marks } = this.#parts;
    await marks.pass('call.before');
    try {
      const made = await creation.call(claim.resourceId, processorKey(claim));
      await marks.pass('call.after');
      return made;
    } catch (error) {
      const keeps = !(error instanceof Failure) || keepsClaim(error, creation.key !== undefined);
      if (!keeps) await this.#release(creation, claim);
      throw error;
    }
  }

  /** Frees the key and what was reserved, unless somebody else is at work on the claim by now. */
  async #release<Made, Result>(creation: Creation<Made, Result>, claim: Claim): Promise<void> {
    const { claims, database } = this.#parts;
    await database.transaction(async (tx) => {
      if (await claims.remove(tx, claim)) await creation.release(tx, claim.resourceId);
    });
  }

  /** Lets the next same request resume at once. Where even that cannot be written, the lease runs out by itself. */
  async #giveUp(claim: Claim): Promise<void> {
    const { claims, database } = this.#parts;
    await claims.endLease(database, claim).catch(() => {});
    this.#running.delete(claim.resourceId);
  }
}

function reused(): Failure {
  return new Failure(
    'idempotency_key_reused',
    'This idempotency key was used for a different request; send the same request again, or use a new key.',
  );
}

function inFlight(): Failure {
  return new Failure(
    'idempotency_key_in_flight',
    'A request with this idempotency key is still running; try again.',
    {
      retryAfterSeconds: 1,
    },
  );
}
