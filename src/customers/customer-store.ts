import type { List } from '../mirrors/list.ts';
import { byTextOfAnyCase } from '../mirrors/list-filter.ts';
import { type ListPage, type ListRequest, listPage } from '../mirrors/list-page.ts';
import { MirrorStore } from '../mirrors/mirror-store.ts';
import type { Customer } from '../model/customer.ts';
import { beginsWith } from '../platform/begins-with.ts';
import type { Database, Queryable, Transaction } from '../platform/postgres.ts';
import { computed, defineTable, immutable, mutable } from '../platform/table.ts';

const customerTable = defineTable<Customer>('customers', {
  id: immutable('uuid'),
  processorCustomerId: immutable('text'),
  email: mutable('text'),
  name: mutable('text'),
  phone: mutable('text'),
  externalId: mutable('text'),
  metadata: mutable('jsonb'),
  deletedAt: mutable('timestamptz'),
  processorAsOf: mutable('timestamptz'),
  processorAsOfLatest: mutable('timestamptz'),
  createdAt: immutable('timestamptz'),
  updatedAt: mutable('timestamptz'),
  revision: computed('integer'),
});

const { columns } = customerTable;

export const customerList: List<Customer> = {
  table: customerTable,
  only: 'deleted_at is null',
  filters: {
    externalId: {
      column: 'id',
      toSql: (externalId) =>
        `(select customers.id from till.external_ids
          join till.customers on customers.id = customer_id and customers.external_id = external_ids.external_id
          where external_ids.external_id = ${externalId})`,
      normalise: (externalId) => externalId,
    },
    email: byTextOfAnyCase('email'),
  },
};

/** A deleted customer whose events have to be searched for personal data. */
export interface DeletedCustomer {
  readonly id: string;
  readonly processorCustomerId: string;
}

/** All SQL for the customers. Rows of deleted customers stay, because webhooks still refer to them. */
export class CustomerStore extends MirrorStore<Customer> {
  constructor() {
    super(customerTable, 'processorCustomerId');
  }

  findLive(db: Queryable, ids: readonly string[]): Promise<readonly Customer[]> {
    const sql = `select ${columns} from till.customers where id = any($1) and deleted_at is null`;
    return db.query(sql, [ids], 'find_live_customers');
  }

  /** Customers whose email begins with this text, in any case, in the order of their emails. */
  searchEmails(db: Queryable, text: string, limit: number): Promise<readonly Customer[]> {
    return db.query(
      `select ${columns} from till.customers
       where deleted_at is null and ${beginsWith('lower(email)', 'lower($1::text)')}
       order by lower(email) using ~<~, id desc limit $2`,
      [text, limit],
    );
  }

  /** Customers whose external id begins with this text, in the order of their external ids. */
  searchExternalIds(db: Queryable, text: string, limit: number): Promise<readonly Customer[]> {
    return db.query(
      `select customer.* from (
         select external_id as found, customer_id from till.external_ids
         where claim_id is null and ${beginsWith('external_id', '$1::text')}
         order by external_id using ~<~ limit $2
       ) as matches
       -- The limit makes PostgreSQL look up each customer by its id.
       cross join lateral (
         select ${columns} from till.customers
         where id = customer_id and external_id = found and deleted_at is null limit 1
       ) as customer
       order by found using ~<~`,
      [text, limit],
    );
  }

  /** Customers after this id, ordered by id. */
  listLiveAfter(db: Queryable, id: string | null, limit: number): Promise<readonly Customer[]> {
    return db.query(
      `select ${columns} from till.customers where deleted_at is null and ($1::uuid is null or id > $1)
       order by id limit $2`,
      [id, limit],
    );
  }

  /**
   * Until this transaction ends, a deletion of these customers does not erase the metadata of their objects. Inserting
   * a row that refers to a customer takes the same lock, and so does storing an event with personal data. The lock
   * conflicts only with `awaitHolders`, so it can follow locks of other rows: see decision 0012 for the order of all
   * locks.
   */
  hold(tx: Transaction, ids: readonly string[]): void {
    const sql = 'select id from till.customers where id = any($1) order by id for key share';
    if (ids.length > 0) tx.send(sql, [ids], 'hold_customers');
  }

  /**
   * Waits for the transactions that hold the customer. It is the only statement of its transaction, so that it holds no
   * other lock while it waits, and releases its own lock at once.
   */
  async awaitHolders(database: Database, key: string): Promise<void> {
    await database.query('select id from till.customers where processor_customer_id = $1 for update', [key]);
  }

  /** Makes the next search for personal data due, unless one has ended. Returns the id of the customer, if so. */
  async makeSearchDue(tx: Transaction, key: string): Promise<readonly string[]> {
    const rows = await tx.query<{ id: string }>(
      `update till.customers set erase_at = clock_timestamp()
       where processor_customer_id = $1 and deleted_at is not null and first_erased_at is null returning id`,
      [key],
    );
    return rows.map(({ id }) => id);
  }

  /** Deleted customers whose events are due for a search, the longest overdue first. */
  listToErase(db: Queryable, limit: number): Promise<readonly DeletedCustomer[]> {
    return db.query(
      `select id, processor_customer_id as "processorCustomerId" from till.customers
       where deleted_at is not null and erase_at is not null and erase_at <= now() order by erase_at limit $1`,
      [limit],
    );
  }

  /**
   * The first search can miss deliveries in progress: Till stores the response of an endpoint, which may contain
   * personal data from the event. So the search is repeated ten minutes later, when every delivery has ended. Both
   * times come from the database, because the clock of a process may be wrong.
   */
  async markErased(db: Queryable, { id }: DeletedCustomer): Promise<void> {
    await db.query(
      `update till.customers set erase_at =
         case when first_erased_at is null then now() + interval '10 minutes' end,
         first_erased_at = coalesce(first_erased_at, now())
       where id = $1`,
      [id],
    );
  }

  list(db: Queryable, request: ListRequest): Promise<ListPage<Customer>> {
    return listPage(db, customerList, request);
  }
}
