import { setTimeout } from 'node:timers/promises';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import { confirmCaller } from '#core/platform/cause.ts';
import { newId } from '#core/platform/id.ts';
import { isGone } from '#core/platform/owner-lock.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { SharedStatement } from '#core/platform/shared-statement.ts';
import { type Claim, type CrashPoints, callEndedMs, hashRequest, unrepeatableName } from './claim.ts';
import { keyInFlight, keyReused, reservationInFlight } from './claim-failures.ts';
import type { ClaimStore, NewClaim, StoredClaim } from './claim-store.ts';
import { ClaimWatches } from './claim-watches.ts';
import type { Admission, FoundClaim } from './operation.ts';

/**
 * How long a request waits for another request with the same idempotency key: as long as a call to the processor may
 * take.
 */
const waitMsDefault = 10_000;

/** A request for a claim. */
interface ClaimRequest<Prepared> {
  readonly operation: Claim['operation'];
  /** The idempotency key, if the caller sent one. */
  readonly key: IdempotencyKey | undefined;
  /** The values that identify the request. */
  readonly request: unknown;
  readonly parentId: string | null;
  /** Runs in the transaction of the claim, and again when the claim is resumed. Undefined if nothing is reserved. */
  readonly reserve:
    | ((tx: Transaction, id: string, admission: Admission) => Promise<Prepared | undefined>)
    | undefined;
}

export interface OwnClaim<Prepared> {
  readonly state: 'ours';
  /** Each attempt at the processor replaces it. */
  claim: StoredClaim;
  /** An earlier request created the claim, and may have called the processor. */
  readonly isResumed: boolean;
  /** The result of `reserve`, if it has one. */
  readonly reserved?: Prepared;
}

interface CompletedClaim {
  readonly state: 'completed';
  readonly claim: StoredClaim;
}

/** The state of the claim that holds a reservation. */
type HolderState<Prepared> =
  | OwnClaim<Prepared>
  | { readonly state: 'ended' | 'unresolved' }
  | { readonly state: 'abandoned'; readonly claim: StoredClaim };

type ClaimState<Prepared> = OwnClaim<Prepared> | CompletedClaim | { readonly state: 'running' };

/** What the work on claims shares. */
export interface ClaimContext extends Omit<Platform, 'metrics'> {
  readonly claims: ClaimStore;
  readonly crashPoints: CrashPoints;
  /** Tests set another wait. */
  readonly waitMs?: number | undefined;
}

/** Decides which request may work on an idempotency key. */
export class Claims {
  /** How long a request waits for another one to end. */
  readonly waitMs: number;
  readonly #context: ClaimContext;
  /** The claims that this process works on. Any other claim of this process is abandoned. */
  readonly #running = new Set<string>();
  /** Inserts the claims of concurrent requests in one statement. Undefined for an idempotency key that is taken. */
  readonly #inserting: SharedStatement<NewClaim, StoredClaim | undefined>;
  readonly #watches: ClaimWatches;

  constructor(context: ClaimContext) {
    const { database, claims, waitMs = waitMsDefault } = context;
    this.#context = context;
    this.waitMs = waitMs;
    this.#inserting = new SharedStatement({
      run: async (newClaims) => {
        const inserted = await claims.insert(database, newClaims);
        const byResource = new Map(inserted.map((claim) => [claim.resourceId, claim]));
        return newClaims.map(({ resourceId }) => byResource.get(resourceId));
      },
    });
    this.#watches = new ClaimWatches((claim) => this.#isInProgress(database, claim));
  }

  /** Waits until the idempotency key is free or its request is completed. Fails if neither happens in time. */
  async take<Prepared>(request: ClaimRequest<Prepared>): Promise<OwnClaim<Prepared> | CompletedClaim> {
    const giveUpAtMs = performance.now() + this.waitMs;
    const requestHash = hashRequest(request.request);
    let state: ClaimState<Prepared> | undefined = await this.#claimNewKey(request, requestHash);
    while (state === undefined || state.state === 'running') {
      state = await this.#waitAndClaim(request, requestHash, giveUpAtMs);
    }
    return state;
  }

  /** The claim that this request would create. It serves to look up what an earlier attempt created. */
  preview<Prepared>(request: ClaimRequest<Prepared>): FoundClaim {
    const claim = this.#context.claims.marked(this.#newClaim(request, hashRequest(request.request)));
    return { ...claim, attemptedAt: this.#context.clock.now(), target: null };
  }

  /**
   * Waits until the claim that holds a reservation is completed or gone. Takes it over if it is abandoned and
   * `reserveFor` returns how to reserve for it. `unresolved` if none of these happens in time.
   */
  async waitForHolder<Prepared>(
    claimId: string,
    reserveFor: (holder: Claim) => ((tx: Transaction) => Promise<Prepared | undefined>) | undefined,
    giveUpAtMs: number,
  ): Promise<HolderState<Prepared>> {
    const { claims, database } = this.#context;
    for (let isAbandoned = false; ; isAbandoned = true) {
      const holder = await claims.findByResource(database, claimId);
      if (holder === undefined || holder.completedAt !== null) return { state: 'ended' };
      const reserve = reserveFor(holder);
      if (isAbandoned && reserve === undefined) return { state: 'abandoned', claim: holder };
      const outcome = await this.#waitFor(holder, giveUpAtMs);
      if (outcome === undefined) return { state: 'unresolved' };
      if (outcome.state === 'completed') return { state: 'ended' };
      await confirmCaller();
      const taken = reserve === undefined ? undefined : await this.#takeOver(holder, reserve);
      if (taken !== undefined) return taken;
    }
  }

  /** Waits until the requests of these operations that are in progress now have ended. Fails if that takes too long. */
  async waitForRunning(operations: readonly string[]): Promise<void> {
    const { claims, database } = this.#context;
    const giveUpAtMs = performance.now() + this.waitMs;
    for (const claim of await claims.listOpen(database, operations))
      if ((await this.#waitFor(claim, giveUpAtMs)) === undefined) throw reservationInFlight();
  }

  /** This process no longer works on the claim. */
  end(claim: Claim): void {
    this.#running.delete(claim.resourceId);
    for (const id of [claim.resourceId, watchOfKey(claim)]) this.#watches.check(id);
  }

  /** Waits until no process works on the claim. Undefined if that takes too long. */
  #waitFor({ resourceId, requestHash }: Claim, giveUpAtMs: number) {
    const { claims, database } = this.#context;
    const read = () => claims.findByResource(database, resourceId);
    return this.#watches.wait({ id: resourceId, read, requestHash }, giveUpAtMs - performance.now());
  }

  /**
   * Claims with one statement in the usual case: the idempotency key is new and the operation reserves nothing.
   * Otherwise undefined.
   */
  async #claimNewKey<Prepared>(
    request: ClaimRequest<Prepared>,
    requestHash: Buffer,
  ): Promise<OwnClaim<Prepared> | undefined> {
    if (request.reserve !== undefined) return undefined;
    const { crashPoints } = this.#context;
    const claim = this.#newClaim(request, requestHash);
    let inserted: StoredClaim | undefined;
    // Before the statement, because other requests can see the claim before this one knows that it is committed.
    this.#running.add(claim.resourceId);
    try {
      await crashPoints.pass('claim.prepared');
      inserted = await this.#inserting.add(claim);
    } finally {
      if (inserted === undefined) this.#running.delete(claim.resourceId);
    }
    return inserted && { state: 'ours', claim: inserted, isResumed: false };
  }

  async #waitAndClaim<Prepared>(
    request: ClaimRequest<Prepared>,
    requestHash: Buffer,
    giveUpAtMs: number,
  ): Promise<ClaimState<Prepared>> {
    const { operation, key } = request;
    const { claims, database } = this.#context;
    // Without an idempotency key, no other request can hold the claim.
    if (key === undefined) return this.#claim(request, requestHash);
    const outcome = await this.#watches.wait(
      {
        id: watchOfKey({ operation, ...key }),
        read: () => claims.find(database, operation, key),
        requestHash,
      },
      giveUpAtMs - performance.now(),
    );
    if (outcome === undefined) throw keyInFlight();
    await confirmCaller();
    return outcome.state === 'completed' ? outcome : this.#claim(request, requestHash);
  }

  async #claim<Prepared>(
    request: ClaimRequest<Prepared>,
    requestHash: Buffer,
  ): Promise<ClaimState<Prepared>> {
    let claimed: Claim | undefined;
    try {
      return await this.#context.database.transaction(async (tx) => {
        const state = await this.#tryClaim(tx, request, requestHash);
        if (state.state !== 'ours') return state;
        claimed = state.claim;
        const reserved = await request.reserve?.(tx, claimed.resourceId, admissionOf(state));
        await this.#context.crashPoints.pass('claim.prepared');
        // Before the commit, because other requests can see the claim before this one knows that it is committed.
        this.#running.add(claimed.resourceId);
        return reserved === undefined ? state : { ...state, reserved };
      });
    } catch (error) {
      if (claimed !== undefined) this.end(claimed);
      throw error;
    }
  }

  /** Undefined if the claim is no longer abandoned. */
  async #takeOver<Prepared>(
    { resourceId }: Claim,
    reserve: (tx: Transaction) => Promise<Prepared | undefined>,
  ): Promise<OwnClaim<Prepared> | undefined> {
    const { claims, database, ownerLock } = this.#context;
    let isOurs = false;
    try {
      return await database.transaction(async (tx) => {
        const claim = await claims.lock(tx, resourceId);
        if (claim === undefined || claim.completedAt !== null) return undefined;
        if (await this.#isInProgress(tx, claim)) return undefined;
        const reserved = await reserve(tx);
        isOurs = true;
        this.#running.add(resourceId);
        const owned = await claims.takeOver(tx, claim, ownerLock.owner);
        const state = { state: 'ours', claim: owned, isResumed: true } as const;
        return reserved === undefined ? state : { ...state, reserved };
      });
    } catch (error) {
      if (isOurs) this.#running.delete(resourceId);
      throw error;
    }
  }

  /** Claims the idempotency key if no other request holds it. */
  async #tryClaim<Prepared>(
    tx: Transaction,
    request: ClaimRequest<Prepared>,
    requestHash: Buffer,
  ): Promise<ClaimState<Prepared>> {
    const { claims } = this.#context;
    const newClaim = this.#newClaim(request, requestHash);
    const [inserted] = await claims.insert(tx, [newClaim]);
    if (inserted !== undefined) return { state: 'ours', claim: inserted, isResumed: false };
    const claim = await claims.lockKey(tx, newClaim.operation, newClaim);
    // The claim was removed between the two statements, so the idempotency key is free again.
    if (claim === undefined) return { state: 'running' };
    if (!claim.requestHash.equals(requestHash)) throw keyReused();
    if (claim.completedAt !== null) return { state: 'completed', claim };
    if (await this.#isInProgress(tx, claim)) return { state: 'running' };
    return { state: 'ours', claim: await claims.takeOver(tx, claim, newClaim.owner), isResumed: true };
  }

  #newClaim<Prepared>({ operation, key, parentId }: ClaimRequest<Prepared>, requestHash: Buffer): NewClaim {
    const { ownerLock, clock } = this.#context;
    const resourceId = newId(clock.now());
    const { owner } = ownerLock;
    return {
      ...(key ?? { keyName: unrepeatableName, key: resourceId }),
      ...{ operation, requestHash, resourceId, parentId, owner },
    };
  }

  async #isInProgress(db: Queryable, claim: StoredClaim): Promise<boolean> {
    // True even if the lease has expired, because this process still works on it.
    if (this.#running.has(claim.resourceId)) return true;
    if (!claim.isLeased || claim.owner === this.#context.ownerLock.owner) return false;
    return !(await isGone(db, claim.owner));
  }
}

/** Requests of one application with the same idempotency key wait together. */
function watchOfKey({ operation, keyName, key }: Pick<Claim, 'operation' | 'keyName' | 'key'>): string {
  return `${operation} ${keyName} ${key}`;
}

/** The sweeper releases the reservation of a claim once no call of the claim can be in flight. */
export function admissionOf({ isResumed, claim }: OwnClaim<unknown>): Admission {
  if (!isResumed) return 'new';
  return claim.idleMs > callEndedMs ? 'given up' : 'again';
}

/** No request waits for a completion, so there is time to collect several claims. */
const gatherMs = 20;
/** One minute of retries covers a broken connection or a database restart without leaving work for the sweeper. */
const attemptsMax = 60;
const retryDelayMs = 1_000;

/**
 * Completes claims whose rows are written, after the response. Until then, a repeated request finds its claim in
 * progress. A crash leaves a row with an open claim, and so does a webhook that writes the row first. A repeated
 * request or the sweeper completes such a claim.
 */
export class LateCompletions {
  readonly #context: ClaimContext;
  /** Called when the work on a claim has ended. */
  readonly #onEnd: (claim: Claim) => void;
  readonly #inProgress = new Set<Promise<void>>();
  #isStopping = false;
  readonly #completing = new SharedStatement<Claim, undefined>({
    run: async (claims) => {
      await this.#context.claims.complete(this.#context.database, claims);
      return claims.map(() => undefined);
    },
    gatherMs,
  });

  constructor(context: ClaimContext, onEnd: (claim: Claim) => void) {
    this.#context = context;
    this.#onEnd = onEnd;
  }

  add(claim: Claim): void {
    const done = this.#complete(claim).finally(() => this.#inProgress.delete(done));
    this.#inProgress.add(done);
  }

  /** Waits for the completions in progress, and does not retry those that fail from now on. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#inProgress);
  }

  async #complete(claim: Claim): Promise<void> {
    const { claims, database, crashPoints, logger } = this.#context;
    try {
      await this.#attempt(claim, attemptsMax);
      await crashPoints.pass('record.completed');
    } catch (error) {
      logger.warn({ err: error }, 'claim completion failed; lease released');
      await claims.endLease(database, claim).catch(() => {});
    }
    this.#onEnd(claim);
  }

  async #attempt(claim: Claim, attemptsLeft: number): Promise<void> {
    try {
      await this.#completing.add(claim);
    } catch (error) {
      if (attemptsLeft <= 1 || this.#isStopping) throw error;
      await setTimeout(retryDelayMs);
      await this.#attempt(claim, attemptsLeft - 1);
    }
  }
}
