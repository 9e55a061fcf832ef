import { listPage, type Page, type PageRequest } from '../mirrors/list-page.ts';
import { toAsOf } from '../mirrors/transition.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import { recordSet } from '../platform/record-set.ts';
import type { Customer } from './customer.ts';

/** By name, because statements that are prepared must not change shape when a newer release adds a column. */
const columns =
  'id, processor_customer_id, email, name, phone, deleted_at, processor_as_of, processor_as_of_latest, created_at, updated_at, revision';

/** All SQL for the customers. */
export class CustomerStore {
  async find(db: Queryable, ids: readonly string[]): Promise<readonly Customer[]> {
    const rows = await db.query<CustomerRow>(
      `select ${columns} from till.customers where id = any($1) and deleted_at is null`,
      [ids],
      'find_customers',
    );
    return rows.map(toCustomer);
  }

  async findAny(db: Queryable, id: string): Promise<Customer | undefined> {
    const rows = await db.query<CustomerRow>('select * from till.customers where id = $1', [id]);
    return rows[0] && toCustomer(rows[0]);
  }

  /** Deleted ones included: webhooks still know them. */
  async findByProcessorIds(db: Queryable, ids: readonly string[]): Promise<readonly Customer[]> {
    const rows = await db.query<CustomerRow>(
      `select ${columns} from till.customers where processor_customer_id = any($1)`,
      [ids],
      'find_customers_of_processor',
    );
    return rows.map(toCustomer);
  }

  /** In the order of their ids, after this one. */
  async listLiveAfter(db: Queryable, id: string | null, limit: number): Promise<readonly Customer[]> {
    const rows = await db.query<CustomerRow>(
      `select * from till.customers where deleted_at is null and ($1::uuid is null or id > $1)
       order by id limit $2`,
      [id, limit],
    );
    return rows.map(toCustomer);
  }

  /**
   * In the order of their ids, so that two who lock several never wait for each other in a circle. Ids never change, so
   * that the lock (here and in the other stores) lets others refer to the row: a batch that holds one customer and
   * records the invoice of another must not wait for a batch that does the reverse.
   */
  async lockByProcessorIds(tx: Queryable, ids: readonly string[]): Promise<readonly Customer[]> {
    const rows = await tx.query<CustomerRow>(
      'select * from till.customers where processor_customer_id = any($1) order by id for no key update',
      [ids],
    );
    return rows.map(toCustomer);
  }

  /** A row that a retry finds already there stays as it is; false then. */
  async insert(tx: Queryable, customer: Customer): Promise<boolean> {
    const rows = await tx.query(
      `insert into till.customers
         (id, processor_customer_id, email, name, phone, deleted_at, processor_as_of, processor_as_of_latest,
           created_at, updated_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
       on conflict do nothing
       returning 1 as inserted`,
      [
        customer.id,
        customer.processorCustomerId,
        customer.email,
        customer.name,
        customer.phone,
        customer.deletedAt,
        customer.processorAsOf.earliest,
        customer.processorAsOf.latest,
        customer.createdAt,
        customer.updatedAt,
      ],
    );
    return rows.length > 0;
  }

  /** Rows that were lost; returns those that were not there. In one order, so that two recoveries never wait in a circle. */
  async insertRecovered(tx: Queryable, customers: readonly Customer[]): Promise<readonly Customer[]> {
    const sorted = customers.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const inserted: Customer[] = [];
    for (const customer of sorted) if (await this.insert(tx, customer)) inserted.push(customer);
    return inserted;
  }

  update(tx: Transaction, customers: readonly Customer[]): void {
    if (customers.length === 0) return;
    tx.send(
      `update till.customers set revision = revision + 1, email = v.email, name = v.name, phone = v.phone, deleted_at = v."deletedAt",
         processor_as_of = (v."processorAsOf"->>'earliest')::timestamptz,
         processor_as_of_latest = (v."processorAsOf"->>'latest')::timestamptz, updated_at = v."updatedAt"
       from jsonb_to_recordset($1::jsonb) as v (id uuid, email text, name text, phone text, "deletedAt" timestamptz,
         "processorAsOf" jsonb, "updatedAt" timestamptz)
       where customers.id = v.id`,
      [recordSet(customers)],
      'update_customers',
    );
  }

  list(db: Queryable, request: PageRequest): Promise<Page<Customer>> {
    return listPage(db, { table: 'customers', only: 'deleted_at is null' }, request, toCustomer);
  }
}

interface CustomerRow {
  readonly id: string;
  readonly processor_customer_id: string;
  readonly email: string | null;
  readonly name: string | null;
  readonly phone: string | null;
  readonly deleted_at: Date | null;
  readonly processor_as_of: Date;
  readonly processor_as_of_latest: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly revision: number;
}

function toCustomer(row: CustomerRow): Customer {
  return {
    id: row.id,
    processorCustomerId: row.processor_customer_id,
    email: row.email,
    name: row.name,
    phone: row.phone,
    deletedAt: row.deleted_at,
    processorAsOf: toAsOf(row.processor_as_of, row.processor_as_of_latest),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    revision: row.revision,
  };
}
