import type { Clock } from '../platform/clock.ts';
import { newId } from '../platform/id.ts';
import { isGone, type OwnerLock } from '../platform/owner-lock.ts';
import type { Database, Queryable, Transaction } from '../platform/postgres.ts';
import { SharedStatement } from '../platform/shared-statement.ts';
import { type Claim, hashRequest } from './claim.ts';
import { keyInFlight, keyReused } from './claim-failures.ts';
import type { ClaimStore, NewClaim, StoredClaim } from './claim-store.ts';
import { ClaimWatches } from './claim-watches.ts';
import type { CrashPoints } from './crash-points.ts';

/** How long a request waits for another one with the same key: as long as a call to the processor may take. */
const waitMsDefault = 10_000;

/** A request for a claim. */
export interface ClaimRequest<Prepared> {
  readonly operation: Claim['operation'];
  /** The caller's key, if it sent one. */
  readonly key: string | undefined;
  /** What makes two requests the same. */
  readonly request: unknown;
  readonly parentId: string | null;
  /** Runs in the transaction of the claim; may run again for the same id. */
  readonly reserve?: ((tx: Transaction, id: string) => Promise<Prepared>) | undefined;
}

export interface OwnClaim<Prepared> {
  readonly state: 'ours';
  readonly claim: StoredClaim;
  /** An earlier request made the claim, and may have called the processor. */
  readonly isResumed: boolean;
  /** The result of `reserve`. */
  readonly reserved?: Prepared;
}

interface CompletedClaim {
  readonly state: 'completed';
  readonly claim: StoredClaim;
}

type ClaimState<Prepared> = OwnClaim<Prepared> | CompletedClaim | { readonly state: 'running' };

export interface ClaimParts {
  readonly database: Database;
  readonly claims: ClaimStore;
  readonly ownerLock: OwnerLock;
  readonly clock: Clock;
  readonly crashPoints: CrashPoints;
  /** For tests, which cannot wait as long as people can. */
  readonly waitMs?: number;
}

/** Decides which request may work on an idempotency key. */
export class Claims {
  readonly #parts: ClaimParts;
  /** The claims that this process works on. Any other claim with this process as its owner was given up. */
  readonly #running = new Set<string>();
  /** Inserts the claims of concurrent requests together. Undefined for a key that is taken. */
  readonly #inserting: SharedStatement<NewClaim, StoredClaim | undefined>;
  readonly #watches: ClaimWatches;

  constructor(parts: ClaimParts) {
    const { database, claims } = parts;
    this.#parts = parts;
    this.#inserting = new SharedStatement({
      run: async (newClaims) => {
        const inserted = await claims.insert(database, newClaims);
        const byResource = new Map(inserted.map((claim) => [claim.resourceId, claim]));
        return newClaims.map(({ resourceId }) => byResource.get(resourceId));
      },
    });
    this.#watches = new ClaimWatches({
      read: (operation, key) => claims.find(database, operation, key),
      isAtWork: (claim) => this.#isAtWork(database, claim),
    });
  }

  /** Waits until the key is free or its request is completed. Fails if neither happens in time. */
  async take<Prepared>(request: ClaimRequest<Prepared>): Promise<OwnClaim<Prepared> | CompletedClaim> {
    const { waitMs = waitMsDefault } = this.#parts;
    const giveUpAtMs = performance.now() + waitMs;
    const requestHash = hashRequest(request.request);
    let state: ClaimState<Prepared> | undefined = await this.#claimAtOnce(request, requestHash);
    while (state === undefined || state.state === 'running') {
      state = await this.#claimInTurn(request, requestHash, giveUpAtMs);
    }
    return state;
  }

  /** This process no longer works on the claim. */
  end({ operation, key, resourceId }: Claim): void {
    this.#running.delete(resourceId);
    this.#watches.look(operation, key);
  }

  /** Most keys are new, and most creations reserve nothing: then one statement suffices. Undefined if it takes more. */
  async #claimAtOnce<Prepared>(
    request: ClaimRequest<Prepared>,
    requestHash: Buffer,
  ): Promise<OwnClaim<Prepared> | undefined> {
    if (request.reserve !== undefined) return undefined;
    const { crashPoints } = this.#parts;
    const claim = this.#newClaim(request, requestHash);
    let inserted: StoredClaim | undefined;
    // Before the statement, because other requests see the claim before this one learns that it is committed.
    this.#running.add(claim.resourceId);
    try {
      await crashPoints.pass('claim.prepared');
      inserted = await this.#inserting.add(claim);
    } finally {
      if (inserted === undefined) this.#running.delete(claim.resourceId);
    }
    return inserted && { state: 'ours', claim: inserted, isResumed: false };
  }

  async #claimInTurn<Prepared>(
    request: ClaimRequest<Prepared>,
    requestHash: Buffer,
    giveUpAtMs: number,
  ): Promise<ClaimState<Prepared>> {
    const { operation, key } = request;
    // Without the caller's key, no other request can hold the claim.
    if (key === undefined) return this.#claim(request, requestHash);
    const turn = await this.#watches.wait({ operation, key, requestHash }, giveUpAtMs - performance.now());
    if (turn === undefined) throw keyInFlight();
    return turn.state === 'completed' ? turn : this.#claim(request, requestHash);
  }

  async #claim<Prepared>(
    request: ClaimRequest<Prepared>,
    requestHash: Buffer,
  ): Promise<ClaimState<Prepared>> {
    let claimed: Claim | undefined;
    try {
      return await this.#parts.database.transaction(async (tx) => {
        const state = await this.#tryClaim(tx, request, requestHash);
        if (state.state !== 'ours') return state;
        claimed = state.claim;
        const reserved = await request.reserve?.(tx, claimed.resourceId);
        await this.#parts.crashPoints.pass('claim.prepared');
        // Before the commit, because other requests see the claim before this one learns that it is committed.
        this.#running.add(claimed.resourceId);
        return reserved === undefined ? state : { ...state, reserved };
      });
    } catch (error) {
      if (claimed !== undefined) this.end(claimed);
      throw error;
    }
  }

  /** Claims the key if no other request holds it. */
  async #tryClaim<Prepared>(
    tx: Transaction,
    request: ClaimRequest<Prepared>,
    requestHash: Buffer,
  ): Promise<ClaimState<Prepared>> {
    const { claims } = this.#parts;
    const newClaim = this.#newClaim(request, requestHash);
    const [inserted] = await claims.insert(tx, [newClaim]);
    if (inserted !== undefined) return { state: 'ours', claim: inserted, isResumed: false };
    const claim = await claims.lock(tx, newClaim.operation, newClaim.key);
    // Refused and removed between the two statements: the key is free again.
    if (claim === undefined) return { state: 'running' };
    if (!claim.requestHash.equals(requestHash)) throw keyReused();
    if (claim.completedAt !== null) return { state: 'completed', claim };
    if (await this.#isAtWork(tx, claim)) return { state: 'running' };
    return { state: 'ours', claim: await claims.takeOver(tx, claim, newClaim.owner), isResumed: true };
  }

  #newClaim<Prepared>({ operation, key, parentId }: ClaimRequest<Prepared>, requestHash: Buffer): NewClaim {
    const { ownerLock, clock } = this.#parts;
    const resourceId = newId(clock.now());
    return { operation, key: key ?? resourceId, requestHash, resourceId, parentId, owner: ownerLock.owner };
  }

  async #isAtWork(db: Queryable, claim: StoredClaim): Promise<boolean> {
    // Even after its lease: a process always knows what it works on itself.
    if (this.#running.has(claim.resourceId)) return true;
    if (!claim.isLeased || claim.owner === this.#parts.ownerLock.owner) return false;
    return !(await isGone(db, claim.owner));
  }
}
