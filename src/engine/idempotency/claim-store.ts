import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import { type Claim, markOf, type RecordedFailure } from './claim.ts';

export type NewClaim = Pick<
  Claim,
  'operation' | 'key' | 'keyName' | 'requestHash' | 'resourceId' | 'parentId' | 'owner'
>;

export interface StoredClaim extends Claim {
  readonly leasedUntil: Date;
  readonly isLeased: boolean;
  /** How long ago the lease ended. Negative while it is leased. */
  readonly idleMs: number;
  readonly attemptAgeMs: number;
}

/** All SQL for the claims. Times come from the database, so that the clocks of processes need not agree. */
export class ClaimStore {
  readonly #leaseMs: number;
  readonly #installationId: string;

  constructor(leaseMs: number, installationId: string) {
    this.#leaseMs = leaseMs;
    this.#installationId = installationId;
  }

  /** Adds the mark that a lookup needs, before the claim is stored. */
  marked<Unmarked extends Pick<Claim, 'operation' | 'key' | 'keyName' | 'requestHash'>>(
    claim: Unmarked,
  ): Unmarked & Pick<Claim, 'mark'> {
    return { ...claim, mark: markOf(claim, this.#installationId) };
  }

  /**
   * Returns the new claims, without those whose idempotency key is taken. Inserts in the order of the idempotency keys
   * to avoid deadlocks.
   */
  insert(db: Queryable, claims: readonly NewClaim[]): Promise<readonly StoredClaim[]> {
    return this.#read(
      db,
      `insert into till.idempotency_claims (operation, key, key_name, request_hash, resource_id, parent_id, owner,
         attempted_at, created_at, leased_until)
       select operation, key, key_name, request_hash, resource_id, parent_id, owner, now(), now(),
         now() + make_interval(secs => $8)
       from unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::uuid[], $6::uuid[], $7::int[])
         as v (operation, key, key_name, request_hash, resource_id, parent_id, owner)
       order by operation, key_name, key
       on conflict (operation, key_name, key) do nothing
       returning ${columns}`,
      [
        claims.map(({ operation }) => operation),
        claims.map(({ key }) => key),
        claims.map(({ keyName }) => keyName),
        claims.map(({ requestHash }) => requestHash),
        claims.map(({ resourceId }) => resourceId),
        claims.map(({ parentId }) => parentId),
        claims.map(({ owner }) => owner),
        this.#leaseMs / 1_000,
      ],
      'insert_claims',
    );
  }

  /** Reads without a lock, so that it never waits and never blocks other requests. */
  find(db: Queryable, operation: string, { keyName, key }: IdempotencyKey): Promise<StoredClaim | undefined> {
    return this.#readOne(db, ofKey, [operation, keyName, key], 'find_claim');
  }

  findByResource(db: Queryable, resourceId: string): Promise<StoredClaim | undefined> {
    return this.#readOne(db, ofResource, [resourceId]);
  }

  lock(tx: Queryable, resourceId: string): Promise<StoredClaim | undefined> {
    return this.#readOne(tx, `${ofResource} for update`, [resourceId]);
  }

  lockKey(
    tx: Queryable,
    operation: string,
    { keyName, key }: IdempotencyKey,
  ): Promise<StoredClaim | undefined> {
    return this.#readOne(tx, `${ofKey} for update`, [operation, keyName, key]);
  }

  async takeOver(tx: Queryable, claim: StoredClaim, owner: number): Promise<StoredClaim> {
    await tx.query(
      `update till.idempotency_claims set owner = $2, leased_until = now() + make_interval(secs => $3)
       where resource_id = $1`,
      [claim.resourceId, owner, this.#leaseMs / 1_000],
    );
    return { ...claim, owner, isLeased: true };
  }

  /**
   * Starts another attempt with a new processor key, after it is certain that the old one created nothing. Undefined if
   * another request has resumed the claim meanwhile: two attempts could create two objects.
   */
  nextAttempt(db: Queryable, claim: Claim): Promise<StoredClaim | undefined> {
    return this.#readOne(
      db,
      `update till.idempotency_claims set attempt = attempt + 1, attempted_at = now(),
         leased_until = now() + make_interval(secs => $4)
       where ${isStillHeld} returning ${columns}`,
      [...holderOf(claim), this.#leaseMs / 1_000],
    );
  }

  async complete(db: Queryable, claims: readonly Claim[]): Promise<void> {
    await db.query(
      `update till.idempotency_claims set completed_at = now()
       where resource_id = any($1) and completed_at is null`,
      [claims.map(({ resourceId }) => resourceId)],
      'complete_claims',
    );
  }

  /** Records that the request found an existing object. */
  async setParent(tx: Queryable, { resourceId }: Claim, parentId: string): Promise<void> {
    await tx.query('update till.idempotency_claims set parent_id = $2 where resource_id = $1', [
      resourceId,
      parentId,
    ]);
  }

  async setFailure(tx: Queryable, { resourceId }: Claim, failure: RecordedFailure): Promise<void> {
    await tx.query('update till.idempotency_claims set failure = $2 where resource_id = $1', [
      resourceId,
      failure,
    ]);
  }

  /** Records what the request acts on next. False if another request has resumed the claim. */
  async setTarget(db: Queryable, claim: Claim, target: string): Promise<boolean> {
    const rows = await db.query(
      `update till.idempotency_claims set target = $4 where ${isStillHeld} returning 1 as recorded`,
      [...holderOf(claim), target],
    );
    return rows.length > 0;
  }

  /** Gives the claim the id of the object that an earlier request with the same idempotency key created. */
  async moveTo(tx: Queryable, { resourceId }: Claim, foundId: string): Promise<void> {
    await tx.query('update till.idempotency_claims set resource_id = $2 where resource_id = $1', [
      resourceId,
      foundId,
    ]);
  }

  /** Renews the lease. False if the claim is completed, or another request has resumed it. */
  async renewLease(db: Queryable, claim: Claim): Promise<boolean> {
    const rows = await db.query(
      `update till.idempotency_claims set leased_until = now() + make_interval(secs => $4)
       where ${isStillHeld} returning 1 as renewed`,
      [...holderOf(claim), this.#leaseMs / 1_000],
    );
    return rows.length > 0;
  }

  /**
   * Ends the lease, so that the next request with the idempotency key can resume the claim at once. False if the claim
   * is not open.
   */
  async endLease(db: Queryable, claim: Claim): Promise<boolean> {
    const rows = await db.query(
      `update till.idempotency_claims set leased_until = now() where ${isStillHeld} returning 1 as ended`,
      holderOf(claim),
    );
    return rows.length > 0;
  }

  /** The open claims on an object whose leases have expired. */
  listAbandonedOf(db: Queryable, parentId: string, limit: number): Promise<readonly StoredClaim[]> {
    return this.#read(
      db,
      `select ${columns} from till.idempotency_claims
       where parent_id = $1 and completed_at is null and leased_until < now()
       order by leased_until limit $2`,
      [parentId, limit],
    );
  }

  /** The open claims of these operations. */
  listOpen(db: Queryable, operations: readonly string[]): Promise<readonly StoredClaim[]> {
    return this.#read(
      db,
      `select ${columns} from till.idempotency_claims where completed_at is null and operation = any($1)`,
      [operations],
    );
  }

  /** Records that the sweeper could not resolve the claim, unless a request has resumed it. */
  async postpone(db: Queryable, claim: Claim): Promise<void> {
    await db.query(
      `update till.idempotency_claims set looked_at = now() where ${isStillHeld} and leased_until < now()`,
      holderOf(claim),
    );
  }

  /** False if another request has taken the claim over, or it is completed or removed. */
  async remove(tx: Queryable, claim: Claim): Promise<boolean> {
    const removed = await tx.query(
      `delete from till.idempotency_claims where ${isStillHeld} returning 1 as removed`,
      holderOf(claim),
    );
    return removed.length > 0;
  }

  /** Open claims whose lease ended at least `idleMs` ago, rechecked with exponential backoff. */
  listAbandoned(db: Queryable, idleMs: number, limit: number): Promise<readonly StoredClaim[]> {
    return this.#read(
      db,
      `select ${columns} from till.idempotency_claims
       where completed_at is null
         and leased_until < now() - make_interval(secs => $1)
         and (looked_at is null or looked_at < now() - (looked_at - leased_until))
       order by coalesce(looked_at, leased_until) limit $2`,
      [idleMs / 1_000, limit],
    );
  }

  /** Deletes up to `limit` claims that were completed longer ago than `ageMs`. Returns their number. */
  async prune(db: Queryable, ageMs: number, limit: number): Promise<number> {
    const rows = await db.query(
      `delete from till.idempotency_claims where resource_id in (
         select resource_id from till.idempotency_claims
         where completed_at < now() - make_interval(secs => $1)
         order by completed_at limit $2 for update skip locked)
       returning 1 as pruned`,
      [ageMs / 1_000, limit],
    );
    return rows.length;
  }

  async #read(
    db: Queryable,
    text: string,
    values: readonly unknown[],
    name?: string,
  ): Promise<readonly StoredClaim[]> {
    const rows = await db.query<Omit<StoredClaim, 'mark'>>(text, values, name);
    return rows.map((row) => this.marked(row));
  }

  async #readOne(
    db: Queryable,
    text: string,
    values: readonly unknown[],
    name?: string,
  ): Promise<StoredClaim | undefined> {
    const [claim] = await this.#read(db, text, values, name);
    return claim;
  }
}

const columns = `operation, key, key_name as "keyName", request_hash as "requestHash", resource_id as "resourceId", parent_id as "parentId",
  attempt, attempted_at as "attemptedAt", owner, completed_at as "completedAt", failure, target,
  leased_until as "leasedUntil", leased_until > now() as "isLeased", (extract(epoch from now() - leased_until) * 1000)::float8 as "idleMs",
  (extract(epoch from now() - attempted_at) * 1000)::float8 as "attemptAgeMs"`;

const ofKey = `select ${columns} from till.idempotency_claims
  where operation = $1 and key_name = $2 and key = $3`;
const ofResource = `select ${columns} from till.idempotency_claims where resource_id = $1`;

/**
 * The claim is open, and no other request has resumed it. The resource id identifies it, because a newer claim may have
 * the same idempotency key.
 */
const isStillHeld = 'resource_id = $1 and owner = $2 and attempt = $3 and completed_at is null';

function holderOf(claim: Claim): readonly unknown[] {
  return [claim.resourceId, claim.owner, claim.attempt];
}
