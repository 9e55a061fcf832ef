import type { List } from '../mirrors/list.ts';
import { byId, byText } from '../mirrors/list-filter.ts';
import { type ListPage, type ListRequest, listPage } from '../mirrors/list-page.ts';
import { MirrorStore } from '../mirrors/mirror-store.ts';
import type { Queryable } from '../platform/postgres.ts';
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
    coversUntil: mutable('timestamptz'),
    isIncomplete: mutable('boolean'),
    processorAsOf: mutable('timestamptz'),
    // Null in rows that an older release wrote, which stored a single time.
    processorAsOfLatest: mutable('timestamptz', 'greatest(processor_as_of, processor_as_of_latest)'),
    createdAt: immutable('timestamptz'),
    updatedAt: mutable('timestamptz'),
    revision: computed('integer'),
  },
  { insertOrder: 'processorInvoiceId' },
);

/** Invoices name their subscription by the processor's id, because it may have no row. */
const subscriptionKey = (id: string) =>
  `(select processor_subscription_id from till.subscriptions where id = ${id})`;

export const invoiceList: List<Invoice> = {
  table: invoiceTable,
  owner: 'customerId',
  filters: {
    customerId: byId('customer_id'),
    subscriptionId: byId('processor_subscription_id', subscriptionKey),
    status: byText('status'),
  },
};

/** All SQL for the invoices. */
export class InvoiceStore extends MirrorStore<Invoice> {
  constructor() {
    super(invoiceTable, 'processorInvoiceId');
  }

  /** Sets the customer of invoices that were stored before their customer had a row. */
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

  list(db: Queryable, request: ListRequest): Promise<ListPage<Invoice>> {
    return listPage(db, invoiceList, request);
  }
}
