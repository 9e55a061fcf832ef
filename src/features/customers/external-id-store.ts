import type { Queryable } from '#core/platform/postgres.ts';

/** An external id, the customer that has it or is about to get it, and the claim that reserves it until then. */
interface ExternalId {
  readonly externalId: string;
  readonly customerId: string;
  readonly claimId: string | null;
}

/** All SQL for the external ids. The primary key decides which of several concurrent requests gets an external id. */
export class ExternalIdStore {
  /** Reserves the external id, unless another customer has or reserves it. Returns the holder. */
  async reserve(tx: Queryable, { externalId, customerId, claimId }: ExternalId): Promise<ExternalId> {
    const reserved = await tx.query<ExternalId>(
      `insert into till.external_ids as held (external_id, customer_id, claim_id) values ($1, $2, $3)
       on conflict (external_id) do update set claim_id = excluded.claim_id
         where held.customer_id = excluded.customer_id
       returning ${columns}`,
      [externalId, customerId, claimId],
    );
    const [holder] = reserved.length > 0 ? reserved : await this.find(tx, [externalId]);
    // The insert has locked the row of another holder, so it is still there.
    if (holder === undefined) throw new Error('the holder of an external id is gone');
    return holder;
  }

  find(db: Queryable, externalIds: readonly string[]): Promise<readonly ExternalId[]> {
    return db.query(`select ${columns} from till.external_ids where external_id = any($1)`, [externalIds]);
  }

  /** The customer for which a claim reserves an external id. Undefined if it reserves none. */
  async findCustomer(db: Queryable, claimId: string): Promise<string | undefined> {
    const [row] = await db.query<ExternalId>(
      `select ${columns} from till.external_ids where claim_id = $1 limit 1`,
      [claimId],
    );
    return row?.customerId;
  }

  /** The claim that still reserves the external id, although it has ended. Undefined if there is none. */
  async findEndedClaim(db: Queryable, externalId: string): Promise<string | undefined> {
    const [row] = await db.query<{ claimId: string }>(
      `select claim_id as "claimId" from till.external_ids as held
       where external_id = $1 and claim_id is not null and not exists (
         select from till.idempotency_claims where resource_id = held.claim_id and completed_at is null)`,
      [externalId],
    );
    return row?.claimId;
  }

  /** The external ids that requests are about to give to a customer. */
  findReserved(db: Queryable, customerId: string): Promise<readonly ExternalId[]> {
    return db.query(
      `select ${columns} from till.external_ids where customer_id = $1 and claim_id is not null`,
      [customerId],
    );
  }

  /** Gives the external id to another customer, if its holder has neither a claim nor a row that carries it. */
  async replace(tx: Queryable, { externalId, customerId, claimId }: ExternalId): Promise<void> {
    await tx.query(
      'update till.external_ids set customer_id = $2, claim_id = $3 where external_id = $1 and claim_id is null',
      [externalId, customerId, claimId],
    );
  }

  /**
   * Takes external ids for customers that carry them at the processor, if they are free. Returns the holders of all of
   * them. Inserts in a fixed order, so that two transactions never deadlock.
   */
  async take(
    tx: Queryable,
    wanted: readonly Pick<ExternalId, 'externalId' | 'customerId'>[],
  ): Promise<readonly ExternalId[]> {
    const externalIds = wanted.map(({ externalId }) => externalId);
    await tx.query(
      `insert into till.external_ids (external_id, customer_id)
       select external_id, customer_id from unnest($1::text[], $2::uuid[]) as v (external_id, customer_id)
       order by external_id on conflict do nothing`,
      [externalIds, wanted.map(({ customerId }) => customerId)],
    );
    return this.find(tx, externalIds);
  }

  /** Frees the external ids that no claim reserves and no customer carries. */
  async free(tx: Queryable, externalIds: readonly string[]): Promise<void> {
    await tx.query(
      `delete from till.external_ids as held where external_id = any($1) and claim_id is null and ${isUnused}`,
      [externalIds],
    );
  }

  /** Ends the reservation of a claim. The external id stays with its customer if the customer's row carries it. */
  async endReservation(tx: Queryable, claimId: string): Promise<void> {
    await tx.query(`delete from till.external_ids as held where claim_id = $1 and ${isUnused}`, [claimId]);
    await tx.query('update till.external_ids set claim_id = null where claim_id = $1', [claimId]);
  }
}

const columns = 'external_id as "externalId", customer_id as "customerId", claim_id as "claimId"';

const isUnused = `not exists (select from till.customers
  where customers.id = held.customer_id and customers.external_id = held.external_id)`;
