import type { Queryable } from '#core/platform/postgres.ts';

interface GroupReservation {
  readonly customerId: string;
  /** The name of a group, or that of a plan that is a group of its own. */
  readonly groupName: string;
  /** The subscription that is about to have a plan of the group. */
  readonly subscriptionId: string;
  readonly claimId: string;
}

interface Reserved {
  /** The claim that has the reservation. */
  readonly claimId: string;
  /** Whether the reservation did not exist before. */
  readonly isNew: boolean;
  readonly newHistory: number | null;
}

/**
 * The current history, if recovery has not passed in it: commits may be lost (decision 0009). Otherwise null. It is
 * part of the statements that every request for a group makes anyway.
 */
const newHistory = `(select till.history() from till.recovery where history <> till.history()) as "newHistory"`;

/**
 * All SQL for the reservations of groups. The primary key decides which of several concurrent requests gets a group.
 */
export class GroupReservationStore {
  /**
   * Reserves the group for a customer, unless a claim on another subscription has reserved it. Claims on one
   * subscription run one after the other, so another claim on the same subscription is abandoned.
   */
  async reserve(tx: Queryable, reservation: GroupReservation): Promise<Reserved> {
    const { customerId, groupName, subscriptionId, claimId } = reservation;
    const [reserved] = await tx.query<Reserved>(
      // Also locks the row of another claim, so that it is still there.
      `insert into till.group_reservations as held (customer_id, group_name, subscription_id, claim_id)
       values ($1, $2, $3, $4)
       on conflict (customer_id, group_name) do update set claim_id =
         case when held.subscription_id = excluded.subscription_id then excluded.claim_id else held.claim_id end
       returning claim_id as "claimId", held.xmax = 0 as "isNew", ${newHistory}`,
      [customerId, groupName, subscriptionId, claimId],
    );
    if (reserved === undefined) throw new Error('the reservation of a group is gone');
    return reserved;
  }

  /** The subscription for which a claim holds a group. Undefined if it holds none. */
  async findSubscription(db: Queryable, claimId: string): Promise<string | undefined> {
    const [row] = await db.query<{ subscriptionId: string }>(
      'select subscription_id as "subscriptionId" from till.group_reservations where claim_id = $1 limit 1',
      [claimId],
    );
    return row?.subscriptionId;
  }

  /** The groups that a claim holds. */
  listGroups(
    db: Queryable,
    claimId: string,
  ): Promise<readonly Pick<GroupReservation & Reserved, 'groupName' | 'newHistory'>[]> {
    const sql = `select group_name as "groupName", ${newHistory} from till.group_reservations where claim_id = $1`;
    return db.query(sql, [claimId]);
  }

  async endReservation(tx: Queryable, claimId: string): Promise<void> {
    await tx.query('delete from till.group_reservations where claim_id = $1', [claimId], 'end_group');
  }
}
