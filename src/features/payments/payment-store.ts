import type { FilterValues, ListPage, ListRequest } from '#core/model/list-request.ts';
import type { Payment } from '#core/model/payment.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import { anyOf, defineTable } from '#core/platform/table.ts';
import type { OwnedRows } from '#engine/mirrors/erased-store.ts';
import { type CurrencyAmounts, findByAmounts } from '#engine/mirrors/find-by-amounts.ts';
import type { Facets, List } from '#engine/mirrors/list.ts';
import {
  byBound,
  byChoice,
  byCondition,
  byFacet,
  byFacets,
  byId,
  byText,
  byTruth,
} from '#engine/mirrors/list-filter.ts';
import { listPage } from '#engine/mirrors/list-page.ts';
import { MirrorStore } from '#engine/mirrors/mirror-store.ts';
import { paymentFields } from './payment-fields.ts';

const paymentTable = defineTable<Payment>('payments', paymentFields);

const { columns, ownColumns } = paymentTable;

/** Each has an index by time. */
const ofApi = 'processor_invoice_id is null';
const ofSubscriptions = 'processor_invoice_id is not null';
/** The values of the column `marks`. */
const isCharged = 'marks & 1 = 1';
const hasFailed = 'marks & 2 = 2';
const isRefunded = 'marks & 4 = 4';
const isDisputed = 'marks & 8 = 8';
/** The lines of the column `detail`: the code and the decline code of a failure, and the status of a dispute. */
const [failureCode, declineCode, disputeStatus] = [1, 2, 3].map(
  (line) => `nullif(split_part(detail, chr(10), ${line}), '')`,
);
/** The column holds at most this many characters of each. */
const cut = (text: string) => `left(${text}, 200)`;

/** The most selective first: a customer has few payments. */
const ownerFilters = { customerId: byId('customer_id') };
const otherFilters = {
  disputed: byTruth(isDisputed),
  disputeStatus: byFacets((statuses) => `${disputeStatus} = any(string_to_array(${statuses}, ','))`),
  failed: byTruth(hasFailed),
  failureCode: byFacets((code) => `${cut(code)} in (${failureCode}, ${declineCode})`),
  refunded: byChoice({
    true: isRefunded,
    none: `not (${isRefunded})`,
    partial: `${isRefunded} and status <> 'refunded'`,
    full: `${isRefunded} and status = 'refunded'`,
  }),
  currency: byFacet(byText('currency')),
  amountMin: byBound('amount', '>='),
  amountMax: byBound('amount', '<='),
  status: byFacet(byText('status')),
};

const paymentFacets = {
  from: 'till.payments',
  columns: ['currency', 'status', 'marks'],
  amount: 'amount',
} as const;

/** The facets of the payments that a condition on the facets selects. */
function facetsOf(only: string): readonly Facets[] {
  return [
    {
      for: ['disputeStatus', 'failureCode'],
      from: 'till.payments',
      columns: ['detail', ...paymentFacets.columns],
      amount: 'amount',
      where: 'detail is not null',
      only,
    },
    { ...paymentFacets, only },
  ];
}

/** The payments that were created through the API. */
export const paymentList: List<Payment> = {
  table: paymentTable,
  only: ofApi,
  owner: 'customerId',
  amounts: ['amount'],
  filters: { ...ownerFilters, ...otherFilters },
  facets: facetsOf(`not (${isCharged})`),
};

export const ownedPayments: OwnedRows = { table: paymentTable, columns: ['metadata'] };

/** Payments name their subscription by the processor's id, like the invoices that they pay. */
const subscriptionKey = (id: string) =>
  `(select processor_subscription_id from till.subscriptions where id = ${id})`;

/** The payments of an invoice are found among those of its subscription, which has an index. */
const ofInvoice = (id: string) => {
  const keyOf = (column: string) => `(select ${column} from till.invoices where id = ${id}::uuid)`;
  return ['processor_subscription_id', 'processor_invoice_id']
    .map((column) => `${column} = ${keyOf(column)}`)
    .join(' and ');
};

const subscriptionFilters = {
  ...ownerFilters,
  invoiceId: { ...byCondition(ofInvoice), normalise: byId('').normalise },
  subscriptionId: byId('processor_subscription_id', subscriptionKey),
  ...otherFilters,
};

/** The payments of subscriptions. */
export const subscriptionPaymentList: List<Payment> = {
  ...paymentList,
  variant: 'subscription',
  only: ofSubscriptions,
  filters: subscriptionFilters,
  facets: facetsOf(isCharged),
};

export const allPaymentList: List<Payment> = {
  table: paymentTable,
  variant: 'all',
  parts: [ofApi, ofSubscriptions],
  owner: 'customerId',
  amounts: ['amount'],
  filters: subscriptionFilters,
  facets: facetsOf('true'),
};

/**
 * Every payment with a subscription is a payment of a subscription. With this condition PostgreSQL uses their index.
 */
function listOf({ source, subscriptionId, invoiceId }: FilterValues): List<Payment> {
  if (source === 'subscription') return subscriptionPaymentList;
  if (subscriptionId !== undefined || invoiceId !== undefined)
    return { ...subscriptionPaymentList, variant: 'all' };
  return source === 'all' ? allPaymentList : paymentList;
}

const isCounted = `processor_refund_id is not null and payments.intent_status = 'succeeded'`;

/** All SQL for the payments. */
export class PaymentStore extends MirrorStore<Payment> {
  constructor() {
    super('payment', paymentTable, 'processorPaymentIntentId');
  }

  async lock(tx: Queryable, id: string): Promise<Payment | undefined> {
    const sql = `select ${ownColumns} from till.payments where id = $1 for no key update`;
    const [row] = await tx.query<Payment>(sql, [id]);
    return row;
  }

  /**
   * Recomputes the refunded and the reserved amount, without releases. A refund of a payment that has not succeeded is
   * reserved, and counts once it has. The rows must be locked.
   */
  async addUpRefunds(tx: Transaction, payments: readonly Payment[], now: Date): Promise<void> {
    if (payments.length === 0) return;
    const changed = await tx.query<Payment>(
      `update till.payments set amount_refunded = sums.refunded, amount_reserved = sums.reserved,
         updated_at = case when amount_refunded = sums.refunded then updated_at else $2 end
       from (
         select payments.id,
           coalesce(sum(refunds.amount) filter (where ${isCounted}), 0) as refunded,
           coalesce(sum(refunds.amount) filter (where not (${isCounted})), 0) as reserved
         from till.payments
         left join till.refunds
           on payment_id = payments.id and kind = 'refund' and refunds.status not in ('failed', 'canceled')
         where payments.id = any($1)
         group by payments.id
       ) sums
       where payments.id = sums.id
         and (payments.amount_refunded, payments.amount_reserved) <> (sums.refunded, sums.reserved)
       returning ${ownColumns}`,
      [payments.map(({ id }) => id), now],
    );
    tx.written.addChanged(paymentTable.name, changed, payments);
  }

  /** Open payments without recent events, rechecked with exponential backoff for seven days after their creation. */
  async listStale(db: Queryable, limit: number): Promise<readonly string[]> {
    const rows = await db.query<{ key: string }>(
      `select processor_payment_intent_id as key from till.payments
       where intent_status not in ('succeeded', 'canceled')
         and created_at between now() - interval '7 days' and now() - interval '10 minutes'
         and coalesce(checked_at, created_at) < now() - greatest(interval '10 minutes', checked_at - created_at)
       order by created_at limit $1`,
      [limit],
    );
    return rows.map(({ key }) => key);
  }

  async markChecked(db: Queryable, key: string): Promise<void> {
    const sql = 'update till.payments set checked_at = now() where processor_payment_intent_id = $1';
    await db.query(sql, [key]);
  }

  /** The number of payments that were disputed. Slow for many millions of rows. */
  async countDisputed(db: Queryable): Promise<number> {
    const sql = `select count(*)::integer as count from till.payments where detail is not null and ${isDisputed}`;
    const [row] = await db.query<{ count: number }>(sql);
    return row?.count ?? 0;
  }

  /** Payments by the processor's id of their latest charge. */
  findByChargeId(db: Queryable, chargeId: string, limit: number): Promise<readonly Payment[]> {
    const sql = `select ${columns} from till.payments where processor_charge_id = $1 limit $2`;
    return db.query(sql, [chargeId, limit]);
  }

  /** The newest payments by a card with these last four digits. */
  findByLast4(db: Queryable, last4: string, limit: number): Promise<readonly Payment[]> {
    return db.query(
      `select ${columns} from till.payments
       where payment_method is not null and payment_method ->> 'last4' >= $1 and payment_method ->> 'last4' <= $1
       order by payment_method ->> 'last4' desc, created_at desc, id desc limit $2`,
      [last4, limit],
    );
  }

  /** The newest payments of one of these amounts. */
  findByAmounts(db: Queryable, amounts: CurrencyAmounts, limit: number): Promise<readonly Payment[]> {
    return findByAmounts(db, paymentTable, paymentFacets, amounts, limit);
  }

  /** The payments of these subscriptions, by the processor's ids. */
  findOfSubscriptions(db: Queryable, keys: readonly string[]): Promise<readonly Payment[]> {
    const sql = `select ${ownColumns} from till.payments
      where processor_invoice_id is not null and processor_subscription_id = ${anyOf('$1', 'text')}`;
    return db.query(sql, [keys], 'find_payments_of_subscriptions');
  }

  /** The payments of these invoices of these subscriptions. */
  findOfInvoices(
    db: Queryable,
    subscriptionKeys: readonly string[],
    invoiceKeys: readonly string[],
  ): Promise<readonly Payment[]> {
    const sql = `select ${ownColumns} from till.payments
      where processor_subscription_id = ${anyOf('$1', 'text')} and processor_invoice_id = ${anyOf('$2', 'text')}`;
    return db.query(sql, [subscriptionKeys, invoiceKeys], 'find_payments_of_invoices');
  }

  list(db: Queryable, request: ListRequest): Promise<ListPage<Payment>> {
    return listPage(db, listOf(request.filters), request);
  }
}
