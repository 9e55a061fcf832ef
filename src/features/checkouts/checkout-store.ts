import type { Checkout } from '#core/model/checkout.ts';
import type { ListPage, ListRequest } from '#core/model/list-request.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { defineTable } from '#core/platform/table.ts';
import type { OwnedRows } from '#engine/mirrors/erased-store.ts';
import type { List } from '#engine/mirrors/list.ts';
import { byId, byText } from '#engine/mirrors/list-filter.ts';
import { listPage } from '#engine/mirrors/list-page.ts';
import { MirrorStore } from '#engine/mirrors/mirror-store.ts';
import { checkoutFields } from './checkout-fields.ts';

const checkoutTable = defineTable<Checkout>('checkouts', checkoutFields);

const { columns, ownColumns } = checkoutTable;

export const checkoutList: List<Checkout> = {
  table: checkoutTable,
  owner: 'customerId',
  filters: { customerId: byId('customer_id'), status: byText('status') },
};

export const ownedCheckouts: OwnedRows = { table: checkoutTable, columns: ['metadata'] };

export interface OwnedCheckout extends Checkout {
  readonly isOwnerDeleted: boolean;
  readonly holdsGroup: boolean;
}

/** An open checkout, and its position in their order. */
export interface OpenCheckout {
  readonly id: string;
  readonly key: string;
  /** As PostgreSQL writes it: a `Date` has no microseconds, so the position would differ. */
  readonly expiresAt: string;
}

/** All SQL for the checkouts. */
export class CheckoutStore extends MirrorStore<Checkout> {
  constructor() {
    super('checkout', checkoutTable, 'processorCheckoutSessionId');
  }

  /** The row with this key, and the facts that decide whether it may stay open. */
  async findOwned(db: Queryable, key: string): Promise<OwnedCheckout | undefined> {
    const [row] = await db.query<OwnedCheckout>(
      `select ${columns}, (select deleted_at is not null from till.customers where customers.id = customer_id)
         as "isOwnerDeleted",
         exists (select from till.group_reservations where claim_id = checkouts.id) as "holdsGroup"
       from till.checkouts where processor_checkout_session_id = $1`,
      [key],
      'find_owned_checkout',
    );
    return row;
  }

  listOpenOfCustomer(db: Queryable, customerId: string): Promise<readonly Checkout[]> {
    const sql = `select ${columns} from till.checkouts where customer_id = $1 and status = 'open' order by id`;
    return db.query(sql, [customerId]);
  }

  /** Open checkouts that should have expired, and those without recent events, rechecked with exponential backoff. */
  async listStale(db: Queryable, limit: number): Promise<readonly string[]> {
    const rows = await db.query<{ key: string }>(
      `select processor_checkout_session_id as key from till.checkouts
       where status = 'open' and coalesce(checked_at, created_at) < now() - interval '10 minutes'
         and (expires_at < now()
           or coalesce(checked_at, created_at) < now() - greatest(interval '10 minutes', checked_at - created_at))
       order by expires_at limit $1`,
      [limit],
    );
    return rows.map(({ key }) => key);
  }

  /**
   * Open checkouts that do not hold the group of their plan (`soldGroupOf`): those that recovery found and could not
   * expire yet, and those whose plan joined the group later.
   */
  listWithoutGroup(
    db: Queryable,
    after: OpenCheckout | null,
    limit: number,
  ): Promise<readonly OpenCheckout[]> {
    return db.query(
      `select id, expires_at::text as "expiresAt", processor_checkout_session_id as key from till.checkouts
       where status = 'open' and mode = 'subscription'
         and ($1::timestamptz is null or (expires_at, id) > ($1, $2::uuid))
         and not exists (select from till.group_reservations where claim_id = checkouts.id)
         and exists (select from till.plans
           where plans.id = plan_id and not add_on and (group_name is not null or not repeatable))
       order by expires_at, id limit $3`,
      [after?.expiresAt ?? null, after?.id ?? null, limit],
    );
  }

  async markChecked(db: Queryable, key: string): Promise<void> {
    const sql = 'update till.checkouts set checked_at = now() where processor_checkout_session_id = $1';
    await db.query(sql, [key]);
  }

  /** The payments of these checkouts were paid after the buyer completed them, for example by a capture. */
  async markPaid(tx: Transaction, ids: readonly string[], now: Date): Promise<void> {
    const unpaid = await tx.query<Checkout>(
      `select ${ownColumns} from till.checkouts
       where id = any($1) and status = 'completed' and payment_status = 'unpaid' order by id for no key update`,
      [ids],
    );
    this.update(
      tx,
      unpaid.map((before) => ({ before, after: { ...before, paymentStatus: 'paid', updatedAt: now } })),
    );
  }

  list(db: Queryable, request: ListRequest): Promise<ListPage<Checkout>> {
    return listPage(db, checkoutList, request);
  }
}
