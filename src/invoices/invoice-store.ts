import { listPage, type Page, type PageRequest } from '../mirrors/list-page.ts';
import { toAsOf } from '../mirrors/transition.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import { recordSet } from '../platform/record-set.ts';
import type { Invoice, InvoiceStatus } from './invoice.ts';

/** By name, because statements that are prepared must not change shape when a newer release adds a column. */
const columns =
  'id, processor_invoice_id, customer_id, processor_customer_id, processor_subscription_id, amount_due, amount_paid, currency, status, hosted_invoice_url, processor_as_of, processor_as_of_latest, created_at, updated_at, revision';

/** All SQL for the invoices. */
export class InvoiceStore {
  async find(db: Queryable, ids: readonly string[]): Promise<readonly Invoice[]> {
    const rows = await db.query<InvoiceRow>(
      `select ${columns} from till.invoices where id = any($1)`,
      [ids],
      'find_invoices',
    );
    return rows.map(toInvoice);
  }

  async findByProcessorIds(db: Queryable, ids: readonly string[]): Promise<readonly Invoice[]> {
    const rows = await db.query<InvoiceRow>(
      'select * from till.invoices where processor_invoice_id = any($1)',
      [ids],
    );
    return rows.map(toInvoice);
  }

  /** In the order of their ids, so that two who lock several never wait for each other in a circle. */
  async lockByProcessorIds(tx: Queryable, ids: readonly string[]): Promise<readonly Invoice[]> {
    const rows = await tx.query<InvoiceRow>(
      `select ${columns} from till.invoices where processor_invoice_id = any($1)
       order by id for no key update`,
      [ids],
      'lock_invoices',
    );
    return rows.map(toInvoice);
  }

  async insert(tx: Queryable, invoices: readonly Invoice[]): Promise<void> {
    if (invoices.length === 0) return;
    await tx.query(
      `insert into till.invoices (id, processor_invoice_id, customer_id, processor_customer_id,
         processor_subscription_id, amount_due, amount_paid, currency, status, hosted_invoice_url,
         processor_as_of, processor_as_of_latest, created_at, updated_at)
       select id, "processorInvoiceId", "customerId", "processorCustomerId", "processorSubscriptionId", "amountDue",
         "amountPaid", currency, status, "hostedInvoiceUrl", ("processorAsOf"->>'earliest')::timestamptz,
         ("processorAsOf"->>'latest')::timestamptz, "createdAt", "updatedAt"
       from jsonb_to_recordset($1::jsonb) as v (id uuid, "processorInvoiceId" text, "customerId" uuid,
         "processorCustomerId" text, "processorSubscriptionId" text, "amountDue" bigint, "amountPaid" bigint,
         currency text, status text, "hostedInvoiceUrl" text, "processorAsOf" jsonb, "createdAt" timestamptz,
         "updatedAt" timestamptz)
       order by "processorInvoiceId"
       on conflict do nothing`,
      [recordSet(invoices)],
    );
  }

  update(tx: Transaction, invoices: readonly Invoice[]): void {
    if (invoices.length === 0) return;
    tx.send(
      `update till.invoices set revision = revision + 1, customer_id = v."customerId", processor_customer_id = v."processorCustomerId",
         processor_subscription_id = v."processorSubscriptionId", amount_due = v."amountDue",
         amount_paid = v."amountPaid", currency = v.currency, status = v.status,
         hosted_invoice_url = v."hostedInvoiceUrl", processor_as_of = (v."processorAsOf"->>'earliest')::timestamptz,
         processor_as_of_latest = (v."processorAsOf"->>'latest')::timestamptz, updated_at = v."updatedAt"
       from jsonb_to_recordset($1::jsonb) as v (id uuid, "customerId" uuid, "processorCustomerId" text,
         "processorSubscriptionId" text, "amountDue" bigint, "amountPaid" bigint, currency text, status text,
         "hostedInvoiceUrl" text, "processorAsOf" jsonb, "updatedAt" timestamptz)
       where invoices.id = v.id`,
      [recordSet(invoices)],
      'update_invoices',
    );
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
    const parent = customerId === undefined ? {} : { parent: { column: 'customer_id', id: customerId } };
    return listPage(db, { table: 'invoices', ...parent }, request, toInvoice);
  }
}

interface InvoiceRow {
  readonly id: string;
  readonly processor_invoice_id: string;
  readonly customer_id: string | null;
  readonly processor_customer_id: string | null;
  readonly processor_subscription_id: string | null;
  readonly amount_due: number;
  readonly amount_paid: number;
  readonly currency: string;
  readonly status: InvoiceStatus;
  readonly hosted_invoice_url: string | null;
  readonly processor_as_of: Date;
  readonly processor_as_of_latest: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly revision: number;
}

function toInvoice(row: InvoiceRow): Invoice {
  return {
    id: row.id,
    processorInvoiceId: row.processor_invoice_id,
    customerId: row.customer_id,
    processorCustomerId: row.processor_customer_id,
    processorSubscriptionId: row.processor_subscription_id,
    amountDue: row.amount_due,
    amountPaid: row.amount_paid,
    currency: row.currency,
    status: row.status,
    hostedInvoiceUrl: row.hosted_invoice_url,
    processorAsOf: toAsOf(row.processor_as_of, row.processor_as_of_latest),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    revision: row.revision,
  };
}
