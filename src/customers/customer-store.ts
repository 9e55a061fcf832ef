import { listPage, type Page, type PageRequest } from '../mirrors/list-page.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import { recordSet } from '../platform/record-set.ts';
import { computed, defineTable, immutable, mutable } from '../platform/table.ts';
import type { Customer } from './customer.ts';

const customerTable = defineTable<Customer>('customers', {
  id: immutable('uuid'),
  processorCustomerId: immutable('text'),
  email: mutable('text'),
  name: mutable('text'),
  phone: mutable('text'),
  deletedAt: mutable('timestamptz'),
  processorAsOf: mutable('timestamptz'),
  // Null in rows of an older release, which knew one time.
  processorAsOfLatest: mutable('timestamptz', 'greatest(processor_as_of, processor_as_of_latest)'),
  createdAt: immutable('timestamptz'),
  updatedAt: mutable('timestamptz'),
  revision: computed('integer'),
});

const { columns } = customerTable;

/** All SQL for the customers. */
export class CustomerStore {
  find(db: Queryable, ids: readonly string[]): Promise<readonly Customer[]> {
    return db.query(
      `select ${columns} from till.customers where id = any($1) and deleted_at is null`,
      [ids],
      'find_customers',
    );
  }

  async findAny(db: Queryable, id: string): Promise<Customer | undefined> {
    const [row] = await db.query<Customer>(`select ${columns} from till.customers where id = $1`, [id]);
    return row;
  }

  /** Deleted ones included: webhooks still know them. */
  findByProcessorIds(db: Queryable, ids: readonly string[]): Promise<readonly Customer[]> {
    return db.query(
      `select ${columns} from till.customers where processor_customer_id = any($1)`,
      [ids],
      'find_customers_of_processor',
    );
  }

  /** In the order of their ids, after this one. */
  listLiveAfter(db: Queryable, id: string | null, limit: number): Promise<readonly Customer[]> {
    return db.query(
      `select ${columns} from till.customers where deleted_at is null and ($1::uuid is null or id > $1)
       order by id limit $2`,
      [id, limit],
    );
  }

  /**
   * In the order of their ids, so that two who lock several never wait for each other in a circle. Ids never change, so
   * that the lock (here and in the other stores) lets others refer to the row: a batch that holds one customer and
   * records the invoice of another must not wait for a batch that does the reverse.
   */
  lockByProcessorIds(tx: Queryable, ids: readonly string[]): Promise<readonly Customer[]> {
    return tx.query(
      `select ${columns} from till.customers where processor_customer_id = any($1) order by id for no key update`,
      [ids],
    );
  }

  /** Rows that are there already stay as they are; returns the others. */
  insert(tx: Queryable, customers: readonly Customer[]): Promise<readonly Customer[]> {
    if (customers.length === 0) return Promise.resolve([]);
    return tx.query(`${customerTable.insert} returning ${columns}`, [recordSet(customers)]);
  }

  update(tx: Transaction, customers: readonly Customer[]): void {
    if (customers.length > 0) tx.send(customerTable.update, [recordSet(customers)], 'update_customers');
  }

  list(db: Queryable, request: PageRequest): Promise<Page<Customer>> {
    return listPage(db, { table: customerTable, only: 'deleted_at is null' }, request);
  }
}
