import { listPage, ofCustomer, type Page, type PageRequest } from '../mirrors/list-page.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import { recordSet } from '../platform/record-set.ts';
import { computed, defineTable, immutable, mutable } from '../platform/table.ts';
import type { Invoice } from './invoice.ts';

const invoiceTable = defineTable<Invoice>(
  'invoices',
  {
    id: immutable('uuid'),
    processorInvoiceId: immutable('text'),
    customerId: mutable('uuid'),
    processorCustomerId: mutable('text'),
    processorSubscriptionId: mutable('text'),
    amountDue: mutable('bigint'),
    amountPaid: mutable('bigint'),
    currency: mutable('text'),
    status: mutable('text'),
    hostedInvoiceUrl: mutable('text'),
    processorAsOf: mutable('timestamptz'),
    // Null in rows of an older release, which knew one time.
    processorAsOfLatest: mutable('timestamptz', 'greatest(processor_as_of, processor_as_of_latest)'),
    createdAt: immutable('timestamptz'),
    updatedAt: mutable('timestamptz'),
    revision: computed('integer'),
  },
  { insertOrder: 'processorInvoiceId' },
);

const { columns } = invoiceTable;

/** All SQL for the invoices. */
export class InvoiceStore {
  find(db: Queryable, ids: readonly string[]): Promise<readonly Invoice[]> {
    return db.query(`select ${columns} from till.invoices where id = any($1)`, [ids], 'find_invoices');
  }

  findByProcessorIds(db: Queryable, ids: readonly string[]): Promise<readonly Invoice[]> {
    return db.query(`select ${columns} from till.invoices where processor_invoice_id = any($1)`, [ids]);
  }

  /** In the order of their ids, so that two who lock several never wait for each other in a circle. */
  lockByProcessorIds(tx: Queryable, ids: readonly string[]): Promise<readonly Invoice[]> {
    return tx.query(
      `select ${columns} from till.invoices where processor_invoice_id = any($1) order by id for no key update`,
      [ids],
      'lock_invoices',
    );
  }

  async insert(tx: Queryable, invoices: readonly Invoice[]): Promise<void> {
    if (invoices.length > 0) await tx.query(invoiceTable.insert, [recordSet(invoices)]);
  }

  update(tx: Transaction, invoices: readonly Invoice[]): void {
    if (invoices.length > 0) tx.send(invoiceTable.update, [recordSet(invoices)], 'update_invoices');
  }

  /** Gives invoices without a customer to these customers, if they are theirs. */
  async attach(
    tx: Queryable,
    customers: readonly { readonly id: string; readonly processorCustomerId: string }[],
    now: Date,
  ): Promise<void> {
    await tx.query(
      `update till.invoices set customer_id = v.id, revision = revision + 1, updated_at = $3
       from unnest($1::uuid[], $2::text[]) as v (id, processor_customer_id)
       where invoices.customer_id is null and invoices.processor_customer_id = v.processor_customer_id`,
      [customers.map(({ id }) => id), customers.map(({ processorCustomerId }) => processorCustomerId), now],
    );
  }

  list(db: Queryable, request: PageRequest, customerId: string | undefined): Promise<Page<Invoice>> {
    return listPage(db, { table: invoiceTable, ...ofCustomer(customerId) }, request);
  }
}
