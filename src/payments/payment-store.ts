import { listPage, ofCustomer, type Page, type PageRequest } from '../mirrors/list-page.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import { recordSet } from '../platform/record-set.ts';
import { computed, defineTable, immutable, mutable } from '../platform/table.ts';
import type { Payment } from './payment.ts';

const paymentTable = defineTable<Payment>('payments', {
  id: immutable('uuid'),
  processorPaymentIntentId: immutable('text'),
  customerId: immutable('uuid'),
  amount: mutable('bigint'),
  amountReceived: mutable('bigint'),
  amountRefunded: computed('bigint'),
  amountReserved: computed('bigint'),
  currency: mutable('text'),
  intentStatus: mutable('text'),
  status: computed('text'),
  processorAsOf: mutable('timestamptz'),
  // Null in rows of an older release, which knew one time.
  processorAsOfLatest: mutable('timestamptz', 'greatest(processor_as_of, processor_as_of_latest)'),
  createdAt: immutable('timestamptz'),
  updatedAt: mutable('timestamptz'),
  revision: computed('integer'),
});

const { columns } = paymentTable;

/** All SQL for the payments. */
export class PaymentStore {
  find(db: Queryable, ids: readonly string[]): Promise<readonly Payment[]> {
    return db.query(`select ${columns} from till.payments where id = any($1)`, [ids], 'find_payments');
  }

  async lock(tx: Queryable, id: string): Promise<Payment | undefined> {
    const sql = `select ${columns} from till.payments where id = $1 for no key update`;
    const [row] = await tx.query<Payment>(sql, [id]);
    return row;
  }

  findByProcessorIds(db: Queryable, ids: readonly string[]): Promise<readonly Payment[]> {
    return db.query(`select ${columns} from till.payments where processor_payment_intent_id = any($1)`, [
      ids,
    ]);
  }

  /** In the order of their ids, so that two who lock several never wait for each other in a circle. */
  lockByProcessorIds(tx: Queryable, ids: readonly string[]): Promise<readonly Payment[]> {
    return tx.query(
      `select ${columns} from till.payments where processor_payment_intent_id = any($1)
       order by id for no key update`,
      [ids],
      'lock_payments',
    );
  }

  /** Rows that are there already, made by the request or by a webhook, stay as they are; returns the others. */
  insert(tx: Queryable, payments: readonly Payment[]): Promise<readonly Payment[]> {
    if (payments.length === 0) return Promise.resolve([]);
    return tx.query(`${paymentTable.insert} returning ${columns}`, [recordSet(payments)], 'insert_payments');
  }

  update(tx: Transaction, payments: readonly Payment[]): void {
    if (payments.length > 0) tx.send(paymentTable.update, [recordSet(payments)], 'update_payments');
  }

  /** Adds up anew what was refunded and what is reserved; the rows must be locked. */
  async addUpRefunds(tx: Queryable, ids: readonly string[], now: Date): Promise<void> {
    if (ids.length === 0) return;
    await tx.query(
      `update till.payments set amount_refunded = sums.refunded, amount_reserved = sums.reserved,
         updated_at = case when amount_refunded = sums.refunded then updated_at else $2 end
       from (
         select payments.id,
           coalesce(sum(refunds.amount) filter (where processor_refund_id is not null), 0) as refunded,
           coalesce(sum(refunds.amount) filter (where processor_refund_id is null), 0) as reserved
         from till.payments
         left join till.refunds on payment_id = payments.id and refunds.status not in ('failed', 'canceled')
         where payments.id = any($1)
         group by payments.id
       ) sums
       where payments.id = sums.id
         and (payments.amount_refunded, payments.amount_reserved) <> (sums.refunded, sums.reserved)`,
      [ids, now],
    );
  }

  list(db: Queryable, request: PageRequest, customerId: string | undefined): Promise<Page<Payment>> {
    return listPage(db, { table: paymentTable, ...ofCustomer(customerId) }, request);
  }
}
