import type { Queryable } from '../platform/postgres.ts';

interface GroupReservation {
  readonly customerId: string;
  /** The name of a group, or that of a plan which is a group of its own. */
  readonly groupName: string;
  /** The subscription that is about to have a plan of the group. */
  readonly subscriptionId: string;
  readonly claimId: string;
}

/** All SQL for the reservations of groups. The primary key decides which of several concurrent requests gets a group. */
export class GroupReservationStore {
  /**
   * Reserves the group for a customer, unless a claim on another subscription has reserved it. Returns the claim that
   * has it. Claims on one subscription run one after the other, so another claim on the same subscription is abandoned.
   */
  async reserve(tx: Queryable, reservation: GroupReservation): Promise<string> {
    const { customerId, groupName, subscriptionId, claimId } = reservation;
    const [holder] = await tx.query<{ claimId: string }>(
      // Also locks the row of another claim, so that it is still there.
      `insert into till.group_reservations as held (customer_id, group_name, subscription_id, claim_id)
       values ($1, $2, $3, $4)
       on conflict (customer_id, group_name) do update set claim_id =
         case when held.subscription_id = excluded.subscription_id then excluded.claim_id else held.claim_id end
       returning claim_id as "claimId"`,
      [customerId, groupName, subscriptionId, claimId],
    );
    if (holder === undefined) throw new Error('the reservation of a group is gone');
    return holder.claimId;
  }

  /** The subscription for which a claim holds a group. Undefined if it holds none. */
  async findSubscription(db: Queryable, claimId: string): Promise<string | undefined> {
    const [row] = await db.query<{ subscriptionId: string }>(
      'select subscription_id as "subscriptionId" from till.group_reservations where claim_id = $1 limit 1',
      [claimId],
    );
    return row?.subscriptionId;
  }

  /** The names of the groups that a claim holds. */
  async listGroups(db: Queryable, claimId: string): Promise<readonly string[]> {
    const rows = await db.query<{ groupName: string }>(
      'select group_name as "groupName" from till.group_reservations where claim_id = $1',
      [claimId],
    );
    return rows.map(({ groupName }) => groupName);
  }

  async endReservation(tx: Queryable, claimId: string): Promise<void> {
    await tx.query('delete from till.group_reservations where claim_id = $1', [claimId], 'end_group');
  }
}
