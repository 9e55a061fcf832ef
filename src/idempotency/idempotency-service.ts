import { Failure } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { newId } from '../platform/id.ts';
import type { Logger } from '../platform/logger.ts';
import { isGone, type OwnerLock } from '../platform/owner-lock.ts';
import type { Database, Queryable, Transaction } from '../platform/postgres.ts';
import { refreshQuietly } from './adoption.ts';
import { type Claim, callEndedMs, hashRequest, processorKey, processorKeyLifeMs } from './claim.ts';
import type { ClaimStore, NewClaim, StoredClaim } from './claim-store.ts';
import { ClaimWatches } from './claim-watches.ts';
import type { CrashPoints } from './crash-points.ts';
import type { Created, Creation } from './creation.ts';
import { keepsClaim } from './keeps-claim.ts';
import { keyInFlight, keyReused } from './key-failures.ts';
import { LateCompletions } from './late-completions.ts';
import { SharedClaims } from './shared-claims.ts';

/** How long a request waits for another one with the same key: as long as a call to the processor may take. */
const waitMsDefault = 10_000;

type ClaimState =
  | { readonly state: 'ours'; readonly claim: StoredClaim; readonly isResumed: boolean }
  | { readonly state: 'completed'; readonly claim: StoredClaim }
  | { readonly state: 'running' };

interface IdempotencyParts {
  readonly database: Database;
  readonly claims: ClaimStore;
  readonly ownerLock: OwnerLock;
  readonly clock: Clock;
  readonly crashPoints: CrashPoints;
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
  readonly #watches: ClaimWatches;
  readonly #late: LateCompletions;

  constructor(parts: IdempotencyParts) {
    this.#parts = parts;
    this.#shared = new SharedClaims(parts.database, parts.claims);
    this.#late = new LateCompletions({
      ...parts,
      onEnd: (claim) => this.#end(claim),
    });
    this.#watches = new ClaimWatches({
      read: (operation, key) => parts.claims.find(parts.database, operation, key),
      isAtWork: (claim) => this.#isAtWork(parts.database, claim),
    });
  }

  async create<Made, Result>(creation: Creation<Made, Result>): Promise<Created<Result>> {
    const { crashPoints, waitMs = waitMsDefault } = this.#parts;
    const giveUpAtMs = performance.now() + waitMs;
    const requestHash = hashRequest(creation.request);
    await crashPoints.pass('claim.before');
    let claimState = await this.#claimAtOnce(creation, requestHash);
    while (claimState === undefined || claimState.state === 'running') {
      claimState = await this.#claimInTurn(creation, requestHash, giveUpAtMs);
    }
    if (claimState.state === 'completed') {
      return { result: await creation.replay(claimState.claim.resourceId), replayed: true };
    }
    await crashPoints.pass('claim.after');
    const result = await this.#carryOut(creation, claimState);
    if (claimState.isResumed) await refreshQuietly(creation, result, this.#parts.logger);
    await crashPoints.pass('answer.before');
    return { result, replayed: false };
  }

  /** Waits for what goes on after the answers. */
  stop(): Promise<void> {
    return this.#late.stop();
  }

  /** Waits until the key may be claimed, or until what was made under it can be shown. */
  async #claimInTurn<Made, Result>(
    creation: Creation<Made, Result>,
    requestHash: Buffer,
    giveUpAtMs: number,
  ): Promise<ClaimState> {
    const { operation, key } = creation;
    // Without the caller's key, no other request can hold the claim.
    if (key === undefined) return this.#claim(creation, requestHash);
    const turn = await this.#watches.wait({ operation, key, requestHash }, giveUpAtMs - performance.now());
    if (turn === undefined) throw keyInFlight();
    return turn.state === 'completed' ? turn : this.#claim(creation, requestHash);
  }

  async #claim<Made, Result>(creation: Creation<Made, Result>, requestHash: Buffer): Promise<ClaimState> {
    let claimed: Claim | undefined;
    try {
      return await this.#parts.database.transaction(async (tx) => {
        const claimState = await this.#tryClaim(tx, creation, requestHash);
        if (claimState.state !== 'ours') return claimState;
        claimed = claimState.claim;
        await creation.reserve?.(tx, claimed.resourceId);
        await this.#parts.crashPoints.pass('claim.prepared');
        // Before the commit, because others see the claim a moment before we learn that it is committed.
        this.#running.add(claimed.resourceId);
        return claimState;
      });
    } catch (error) {
      if (claimed !== undefined) this.#end(claimed);
      throw error;
    }
  }

  /** Most keys are new, and most creations reserve nothing: then one statement will do. Undefined if it takes more. */
  async #claimAtOnce<Made, Result>(
    creation: Creation<Made, Result>,
    requestHash: Buffer,
  ): Promise<ClaimState | undefined> {
    if (creation.reserve !== undefined) return undefined;
    const { crashPoints } = this.#parts;
    const claim = this.#newClaim(creation, requestHash);
    let inserted: StoredClaim | undefined;
    // Before the statement, because others see the claim a moment before we learn that it is committed.
    this.#running.add(claim.resourceId);
    try {
      await crashPoints.pass('claim.prepared');
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
    const { ownerLock, clock } = this.#parts;
    const resourceId = newId(clock.now());
    return { operation, key: key ?? resourceId, requestHash, resourceId, parentId, owner: ownerLock.owner };
  }

  /** Claims the key if no other request holds it. */
  async #tryClaim<Made, Result>(
    tx: Transaction,
    creation: Creation<Made, Result>,
    requestHash: Buffer,
  ): Promise<ClaimState> {
    const { claims } = this.#parts;
    const newClaim = this.#newClaim(creation, requestHash);
    const [inserted] = await claims.insert(tx, [newClaim]);
    if (inserted !== undefined) return { state: 'ours', claim: inserted, isResumed: false };
    const claim = await claims.lock(tx, newClaim.operation, newClaim.key);
    // Refused and removed between the two statements: its place is free again.
    if (claim === undefined) return { state: 'running' };
    if (!claim.requestHash.equals(requestHash)) throw keyReused();
    if (claim.completedAt !== null) return { state: 'completed', claim };
    if (await this.#isAtWork(tx, claim)) return { state: 'running' };
    return { state: 'ours', claim: await claims.takeOver(tx, claim, newClaim.owner), isResumed: true };
  }

  async #isAtWork(db: Queryable, claim: StoredClaim): Promise<boolean> {
    // Past its lease as well: a process always knows what it is at work on itself.
    if (this.#running.has(claim.resourceId)) return true;
    if (!claim.isLeased || claim.owner === this.#parts.ownerLock.owner) return false;
    return !(await isGone(db, claim.owner));
  }

  async #carryOut<Made, Result>(
    creation: Creation<Made, Result>,
    { claim, isResumed }: Extract<ClaimState, { state: 'ours' }>,
  ): Promise<Result> {
    const { crashPoints } = this.#parts;
    try {
      const made = (await this.#check(creation, claim, isResumed)) ?? (await this.#make(creation, claim));
      await crashPoints.pass('record.before');
      const result = await this.#record(creation, claim, made);
      await crashPoints.pass('record.after');
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
    const { database, claims, crashPoints } = this.#parts;
    const inserted = await creation.insert?.(claim.resourceId, made);
    if (inserted !== undefined) {
      await crashPoints.pass('record.row');
      this.#late.add(claim);
      return inserted;
    }
    const result = await database.transaction(async (tx) => {
      // The claim first, as in every transaction: two who lock in different orders could wait for each other.
      await claims.complete(tx, [claim]);
      await crashPoints.pass('record.completed');
      const recorded = await creation.record(tx, claim.resourceId, made);
      await crashPoints.pass('record.row');
      return recorded;
    });
    this.#end(claim);
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
    if (next === undefined) throw keyInFlight();
    return this.#call(creation, next);
  }

  async #call<Made, Result>(creation: Creation<Made, Result>, claim: Claim): Promise<Made> {
    const { crashPoints } = this.#parts;
    await crashPoints.pass('call.before');
    try {
      const made = await creation.call(claim.resourceId, processorKey(claim));
      await crashPoints.pass('call.after');
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
    this.#end(claim);
  }

  /** This process is no longer at work on the claim. */
  #end({ operation, key, resourceId }: Claim): void {
    this.#running.delete(resourceId);
    this.#watches.look(operation, key);
  }
}
