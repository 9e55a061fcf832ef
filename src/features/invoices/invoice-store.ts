import type { Invoice } from '#core/model/invoice.ts';
import type { ListPage, ListRequest } from '#core/model/list-request.ts';
import { beginsWith, comparedMax } from '#core/platform/begins-with.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { anyOf, defineTable } from '#core/platform/table.ts';
import { type CurrencyAmounts, findByAmounts } from '#engine/mirrors/find-by-amounts.ts';
import type { List } from '#engine/mirrors/list.ts';
import { byCondition, byFacet, byId, byText } from '#engine/mirrors/list-filter.ts';
import { listPage } from '#engine/mirrors/list-page.ts';
import { MirrorStore } from '#engine/mirrors/mirror-store.ts';
import { invoiceFields } from './invoice-fields.ts';

const invoiceTable = defineTable<Invoice>('invoices', invoiceFields, { insertOrder: 'processorInvoiceId' });

const { columns, ownColumns } = invoiceTable;

/** Invoices name their subscription by the processor's id, because it may have no row. */
const subscriptionKey = (id: string) =>
  `(select processor_subscription_id from till.subscriptions where id = ${id})`;

const invoiceFacets = {
  from: 'till.invoices',
  columns: ['currency', 'status'],
  amount: 'amount_due',
} as const;

export const invoiceList: List<Invoice> = {
  table: invoiceTable,
  owner: 'customerId',
  amounts: ['amountDue'],
  filters: {
    // A number belongs to one invoice, so the ids are found first.
    number: byCondition(
      (number) => `id = any (array(select same.id from till.invoices as same
        where same.number is not null and lower(same.number) = lower(${number})))`,
    ),
    customerId: byId('customer_id'),
    subscriptionId: byId('processor_subscription_id', subscriptionKey),
    status: byFacet(byText('status')),
  },
  facets: [invoiceFacets],
};

interface LinkedInvoice extends Pick<Invoice, 'id' | 'status' | 'processorSubscriptionId'> {
  readonly key: string;
}

/** All SQL for the invoices. */
export class InvoiceStore extends MirrorStore<Invoice> {
  constructor() {
    super('invoice', invoiceTable, 'processorInvoiceId');
  }

  /** Sets the customer of invoices that were stored before their customer had a row. */
  async attach(
    tx: Transaction,
    customers: readonly { readonly id: string; readonly processorCustomerId: string }[],
    now: Date,
  ): Promise<void> {
    const idOf = new Map(customers.map(({ id, processorCustomerId }) => [processorCustomerId, id]));
    const unattached = await tx.query<Invoice>(
      `select ${ownColumns} from till.invoices where customer_id is null and processor_customer_id = any($1)
       order by id for no key update`,
      [[...idOf.keys()]],
    );
    const attached = unattached.map((before) => {
      const customerId = idOf.get(before.processorCustomerId ?? '') ?? null;
      return { before, after: { ...before, customerId, updatedAt: now } };
    });
    this.update(tx, attached);
  }

  /** The number of invoices whose customer has no row. */
  async countUnattached(db: Queryable): Promise<number> {
    const [row] = await db.query<{ count: number }>(
      `select count(*)::integer as count from till.invoices
       where customer_id is null and processor_customer_id is not null`,
    );
    return row?.count ?? 0;
  }

  /** Invoices whose number begins with this text, ignoring case: first the whole number, then the newest. */
  searchNumbers(db: Queryable, text: string, limit: number): Promise<readonly Invoice[]> {
    return db.query(
      `select ${columns} from (
         select * from till.invoices
         where number is not null and ${beginsWith('lower(number)', 'lower($1::text)')}
         order by lower(number) using ~<~, id desc limit ${comparedMax}
       ) as invoices
       order by lower(number) = lower($1::text) desc, created_at desc, id desc limit $2`,
      [text, limit],
    );
  }

  /** The newest invoices over one of these amounts. */
  findByAmounts(db: Queryable, amounts: CurrencyAmounts, limit: number): Promise<readonly Invoice[]> {
    return findByAmounts(db, invoiceTable, invoiceFacets, amounts, limit);
  }

  /** Which of these subscriptions have a paid invoice over more than zero, by the processor's ids. */
  async findPaidSubscriptions(db: Queryable, keys: readonly string[]): Promise<readonly string[]> {
    const rows = await db.query<{ key: string }>(
      `select distinct processor_subscription_id as key from till.invoices
       where processor_subscription_id = any($1) and status = 'paid' and amount_paid > 0`,
      [keys],
    );
    return rows.map(({ key }) => key);
  }

  /** The values of these invoices that other rows show, by the processor's ids. */
  findIds(db: Queryable, keys: readonly string[]): Promise<readonly LinkedInvoice[]> {
    const sql = `select processor_invoice_id as key, id, status,
        processor_subscription_id as "processorSubscriptionId"
      from till.invoices where processor_invoice_id = ${anyOf('$1', 'text')}`;
    return db.query(sql, [keys], 'find_invoice_ids');
  }

  findOfSubscriptions(db: Queryable, keys: readonly string[]): Promise<readonly Invoice[]> {
    const sql = `select ${ownColumns} from till.invoices
      where processor_subscription_id = ${anyOf('$1', 'text')}`;
    return db.query(sql, [keys], 'find_invoices_of_subscriptions');
  }

  list(db: Queryable, request: ListRequest): Promise<ListPage<Invoice>> {
    return listPage(db, invoiceList, request);
  }
}
