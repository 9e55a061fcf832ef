import { listPage, type Page, type PageRequest } from '../mirrors/list-page.ts';
import { toAsOf } from '../mirrors/transition.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import { recordSet } from '../platform/record-set.ts';
import type { IntentStatus, Payment, PaymentStatus } from './payment.ts';

/** By name, because statements that are prepared must not change shape when a newer release adds a column. */
const columns =
  'id, processor_payment_intent_id, customer_id, amount, amount_received, amount_refunded, amount_reserved, currency, intent_status, status, processor_as_of, processor_as_of_latest, created_at, updated_at, revision';

/** All SQL for the payments. */
export class PaymentStore {
  async find(db: Queryable, ids: readonly string[]): Promise<readonly Payment[]> {
    const rows = await db.query<PaymentRow>(
      `select ${columns} from till.payments where id = any($1)`,
      [ids],
      'find_payments',
    );
    return rows.map(toPayment);
  }

  async lock(tx: Queryable, id: string): Promise<Payment | undefined> {
    const rows = await tx.query<PaymentRow>('select * from till.payments where id = $1 for no key update', [
      id,
    ]);
    return rows[0] && toPayment(rows[0]);
  }

  async findByProcessorIds(db: Queryable, ids: readonly string[]): Promise<readonly Payment[]> {
    const rows = await db.query<PaymentRow>(
      'select * from till.payments where processor_payment_intent_id = any($1)',
      [ids],
    );
    return rows.map(toPayment);
  }

  /** In the order of their ids, so that two who lock several never wait for each other in a circle. */
  async lockByProcessorIds(tx: Queryable, ids: readonly string[]): Promise<readonly Payment[]> {
    const rows = await tx.query<PaymentRow>(
      `select ${columns} from till.payments where processor_payment_intent_id = any($1)
       order by id for no key update`,
      [ids],
      'lock_payments',
    );
    return rows.map(toPayment);
  }

  /** Rows that are there already, made by the request or by a webhook, stay as they are. */
  async insert(tx: Queryable, payments: readonly Payment[]): Promise<readonly Payment[]> {
    if (payments.length === 0) return [];
    const rows = await tx.query<PaymentRow>(
      `insert into till.payments (id, processor_payment_intent_id, customer_id, amount, amount_received, currency,
         intent_status, processor_as_of, processor_as_of_latest, created_at, updated_at)
       select id, "processorPaymentIntentId", "customerId", amount, "amountReceived", currency,
         "intentStatus", ("processorAsOf"->>'earliest')::timestamptz,
         ("processorAsOf"->>'latest')::timestamptz, "createdAt", "updatedAt"
       from jsonb_to_recordset($1::jsonb) as v (id uuid, "processorPaymentIntentId" text, "customerId" uuid,
         amount bigint, "amountReceived" bigint, currency text, "intentStatus" text, "processorAsOf" jsonb,
         "createdAt" timestamptz, "updatedAt" timestamptz)
       order by id
       on conflict do nothing
       returning ${columns}`,
      [recordSet(payments)],
      'insert_payments',
    );
    return rows.map(toPayment);
  }

  update(tx: Transaction, payments: readonly Payment[]): void {
    if (payments.length === 0) return;
    tx.send(
      `update till.payments set revision = revision + 1, amount = v.amount, amount_received = v."amountReceived", currency = v.currency,
         intent_status = v."intentStatus", processor_as_of = (v."processorAsOf"->>'earliest')::timestamptz,
         processor_as_of_latest = (v."processorAsOf"->>'latest')::timestamptz, updated_at = v."updatedAt"
       from jsonb_to_recordset($1::jsonb) as v (id uuid, amount bigint, "amountReceived" bigint, currency text,
         "intentStatus" text, "processorAsOf" jsonb, "updatedAt" timestamptz)
       where payments.id = v.id`,
      [recordSet(payments)],
      'update_payments',
    );
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
    const parent = customerId === undefined ? {} : { parent: { column: 'customer_id', id: customerId } };
    return listPage(db, { table: 'payments', ...parent }, request, toPayment);
  }
}

interface PaymentRow {
  readonly id: string;
  readonly processor_payment_intent_id: string;
  readonly customer_id: string;
  readonly amount: number;
  readonly amount_received: number;
  readonly amount_refunded: number;
  readonly amount_reserved: number;
  readonly currency: string;
  readonly intent_status: IntentStatus;
  readonly status: PaymentStatus;
  readonly processor_as_of: Date;
  readonly processor_as_of_latest: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly revision: number;
}

function toPayment(row: PaymentRow): Payment {
  return {
    id: row.id,
    processorPaymentIntentId: row.processor_payment_intent_id,
    customerId: row.customer_id,
    amount: row.amount,
    amountReceived: row.amount_received,
    amountRefunded: row.amount_refunded,
    amountReserved: row.amount_reserved,
    currency: row.currency,
    intentStatus: row.intent_status,
    status: row.status,
    processorAsOf: toAsOf(row.processor_as_of, row.processor_as_of_latest),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    revision: row.revision,
  };
}
