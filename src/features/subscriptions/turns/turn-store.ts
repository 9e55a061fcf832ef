import type { Queryable } from '#core/platform/postgres.ts';

/** A request that writes to a subscription. */
export interface Writer {
  readonly writerId: string;
  readonly subscriptionId: string;
  /** The claim of the request. Null if it has none. */
  readonly claimId: string | null;
  /** The number of the process. */
  readonly owner: number;
  /** Whether it goes before all waiting writers. */
  readonly goesFirst: boolean;
}

export interface TakenTurn {
  readonly writerId: string;
  /** An earlier writer did not end its turn. */
  readonly isTakenOver: boolean;
}

interface HeldTurn {
  readonly writerId: string;
  readonly claimId: string | null;
  readonly owner: number;
}

/** All SQL for the turns of writers. Times come from the database, so that the clocks of processes need not agree. */
export class TurnStore {
  /** Takes the turn if no writer has it or waits for it. */
  async takeFree(db: Queryable, writer: Writer, leaseMs: number): Promise<boolean> {
    const { subscriptionId, writerId, claimId, owner } = writer;
    const rows = await db.query(
      `insert into till.subscription_turns (subscription_id, writer_id, claim_id, owner, leased_until)
       select $1::uuid, $2::uuid, $3::uuid, $4::int, now() + make_interval(secs => $5)
       where not exists (select from till.subscription_queue where subscription_id = $1 and leased_until > now())
       on conflict (subscription_id) do nothing
       returning 1 as taken`,
      [subscriptionId, writerId, claimId, owner, leaseMs / 1_000],
      'take_free_turn',
    );
    return rows.length > 0;
  }

  async findHolder(db: Queryable, subscriptionId: string): Promise<HeldTurn | undefined> {
    const [holder] = await db.query<HeldTurn>(
      `select writer_id as "writerId", claim_id as "claimId", owner from till.subscription_turns
       where subscription_id = $1`,
      [subscriptionId],
    );
    return holder;
  }

  /** Continues the turn of an earlier request with the same claim. Undefined if that turn has ended meanwhile. */
  async resume(
    db: Queryable,
    { subscriptionId, writerId, owner }: Writer,
    holder: HeldTurn,
    leaseMs: number,
  ): Promise<TakenTurn | undefined> {
    const [turn] = await db.query<TakenTurn>(
      `update till.subscription_turns
       set writer_id = $2, owner = $3, leased_until = now() + make_interval(secs => $4)
       where subscription_id = $1 and writer_id = $5
       returning writer_id as "writerId", is_taken_over as "isTakenOver"`,
      [subscriptionId, writerId, owner, leaseMs / 1_000, holder.writerId],
    );
    return turn;
  }

  /** Adds writers to the queue, or renews their leases. Writers that already wait keep their places. */
  async wait(db: Queryable, writers: readonly Writer[], leaseMs: number): Promise<void> {
    await db.query(
      `insert into till.subscription_queue (writer_id, subscription_id, claim_id, owner, goes_first, leased_until)
       select writer_id, subscription_id, claim_id, owner, goes_first, now() + make_interval(secs => $6)
       from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::int[], $5::bool[])
         as v (writer_id, subscription_id, claim_id, owner, goes_first)
       order by writer_id
       on conflict (writer_id) do update set leased_until = excluded.leased_until`,
      [
        writers.map(({ writerId }) => writerId),
        writers.map(({ subscriptionId }) => subscriptionId),
        writers.map(({ claimId }) => claimId),
        writers.map(({ owner }) => owner),
        writers.map(({ goesFirst }) => goesFirst),
        leaseMs / 1_000,
      ],
    );
  }

  /**
   * Gives the turn to the first waiting writer, if it is one of these, and the turn is free or its lease has expired.
   */
  async takeNext(
    db: Queryable,
    subscriptionId: string,
    writers: readonly Writer[],
    leaseMs: number,
  ): Promise<TakenTurn | undefined> {
    const [turn] = await db.query<TakenTurn>(
      `with next as (
         select * from till.subscription_queue where subscription_id = $1 and leased_until > now()
         order by goes_first desc, ticket limit 1
       ), taken as (
         insert into till.subscription_turns as held (subscription_id, writer_id, claim_id, owner, leased_until)
         select subscription_id, writer_id, claim_id, owner, now() + make_interval(secs => $3)
         from next where writer_id = any($2::uuid[])
         on conflict (subscription_id) do update
           set writer_id = excluded.writer_id, claim_id = excluded.claim_id, owner = excluded.owner,
             leased_until = excluded.leased_until, is_taken_over = true
           where held.leased_until <= now()
         returning writer_id, is_taken_over
       ), left_queue as (
         delete from till.subscription_queue where writer_id in (select writer_id from taken)
       )
       select writer_id as "writerId", is_taken_over as "isTakenOver" from taken`,
      [subscriptionId, writers.map(({ writerId }) => writerId), leaseMs / 1_000],
    );
    return turn;
  }

  /** False if another writer has taken the turn over. */
  async renew(db: Queryable, { subscriptionId, writerId }: Writer, leaseMs: number): Promise<boolean> {
    const rows = await db.query(
      `update till.subscription_turns set leased_until = now() + make_interval(secs => $3)
       where subscription_id = $1 and writer_id = $2 returning 1 as renewed`,
      [subscriptionId, writerId, leaseMs / 1_000],
    );
    return rows.length > 0;
  }

  /** Also removes the places of writers that died while they waited: nothing renews those leases any more. */
  async end(db: Queryable, { subscriptionId, writerId }: Writer): Promise<void> {
    await db.query(
      `with dead as (
         delete from till.subscription_queue where writer_id in (
           select writer_id from till.subscription_queue
           where subscription_id = $1 and leased_until <= now() for update skip locked)
       )
       delete from till.subscription_turns where subscription_id = $1 and writer_id = $2`,
      [subscriptionId, writerId],
      'end_turn',
    );
  }

  /** Ends the lease, so that the next writer can take the turn over at once. */
  async expire(db: Queryable, { subscriptionId, writerId }: Writer): Promise<void> {
    await db.query(
      'update till.subscription_turns set leased_until = now() where subscription_id = $1 and writer_id = $2',
      [subscriptionId, writerId],
    );
  }

  async leaveQueue(db: Queryable, writerIds: readonly string[]): Promise<void> {
    await db.query('delete from till.subscription_queue where writer_id = any($1)', [writerIds]);
  }
}
