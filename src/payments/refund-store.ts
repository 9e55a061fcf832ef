import { listPage, type Page, type PageRequest } from '../mirrors/list-page.ts';
import { toAsOf } from '../mirrors/transition.ts';
import type { Queryable, Transaction } from '../platform/postgres.ts';
import { recordSet } from '../platform/record-set.ts';
import type { Refund, RefundReason, RefundStatus } from './refund.ts';

/** All SQL for the refunds. Whoever writes one has locked its payment first. */
export class RefundStore {
  async find(db: Queryable, id: string): Promise<Refund | undefined> {
    const rows = await db.query<RefundRow>('select * from till.refunds where id = $1', [id]);
    return rows[0] && toRefund(rows[0]);
  }

  async findOfPayment(db: Queryable, paymentId: string): Promise<readonly Refund[]> {
    const rows = await db.query<RefundRow>('select * from till.refunds where payment_id = $1', [paymentId]);
    return rows.map(toRefund);
  }

  async findPaymentIntentId(db: Queryable, processorRefundId: string): Promise<string | undefined> {
    const rows = await db.query<{ id: string }>(
      `select processor_payment_intent_id as id from till.refunds join till.payments on payments.id = refunds.payment_id
       where processor_refund_id = $1`,
      [processorRefundId],
    );
    return rows[0]?.id;
  }

  /** By the processor's ids, or by ours where the processor's is not known yet. */
  async lockAny(
    tx: Queryable,
    processorIds: readonly string[],
    ids: readonly string[],
  ): Promise<readonly Refund[]> {
    const rows = await tx.query<RefundRow>(
      `select * from till.refunds
       where processor_refund_id = any($1) or (id = any($2::uuid[]) and processor_refund_id is null)
       order by id for no key update`,
      [processorIds, ids],
    );
    return rows.map(toRefund);
  }

  async insert(tx: Queryable, refunds: readonly Refund[]): Promise<void> {
    if (refunds.length === 0) return;
    await tx.query(
      `insert into till.refunds (id, processor_refund_id, payment_id, amount, currency, status, reason,
         processor_as_of, processor_as_of_latest, created_at, updated_at)
       select id, "processorRefundId", "paymentId", amount, currency, status, reason,
         ("processorAsOf"->>'earliest')::timestamptz,
         ("processorAsOf"->>'latest')::timestamptz, "createdAt", "updatedAt"
       from jsonb_to_recordset($1::jsonb) as v (id uuid, "processorRefundId" text, "paymentId" uuid, amount bigint,
         currency text, status text, reason text, "processorAsOf" jsonb, "createdAt" timestamptz,
         "updatedAt" timestamptz)
       order by id
       on conflict do nothing`,
      [recordSet(refunds)],
    );
  }

  update(tx: Transaction, refunds: readonly Refund[]): void {
    if (refunds.length === 0) return;
    tx.send(
      `update till.refunds set revision = revision + 1, processor_refund_id = v."processorRefundId", amount = v.amount, currency = v.currency,
         status = v.status, processor_as_of = (v."processorAsOf"->>'earliest')::timestamptz,
         processor_as_of_latest = (v."processorAsOf"->>'latest')::timestamptz, updated_at = v."updatedAt"
       from jsonb_to_recordset($1::jsonb) as v (id uuid, "processorRefundId" text, amount bigint, currency text,
         status text, "processorAsOf" jsonb, "updatedAt" timestamptz)
       where refunds.id = v.id`,
      [recordSet(refunds)],
      'update_refunds',
    );
  }

  /** Gives a reservation up; one that the processor knows stays. */
  async removeReservation(tx: Queryable, id: string): Promise<void> {
    await tx.query('delete from till.refunds where id = $1 and processor_refund_id is null', [id]);
  }

  async count(db: Queryable): Promise<number> {
    const [row] = await db.query<{ count: number }>('select count(*) as count from till.refunds');
    return row?.count ?? 0;
  }

  /** Those that the processor knows; a reservation is not a refund yet. */
  list(db: Queryable, paymentId: string, request: PageRequest): Promise<Page<Refund>> {
    return listPage(
      db,
      {
        table: 'refunds',
        only: 'processor_refund_id is not null',
        parent: { column: 'payment_id', id: paymentId },
      },
      request,
      toRefund,
    );
  }
}

interface RefundRow {
  readonly id: string;
  readonly processor_refund_id: string | null;
  readonly payment_id: string;
  readonly amount: number;
  readonly currency: string;
  readonly status: RefundStatus;
  readonly reason: RefundReason | null;
  readonly processor_as_of: Date;
  readonly processor_as_of_latest: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly revision: number;
}

function toRefund(row: RefundRow): Refund {
  return {
    id: row.id,
    processorRefundId: row.processor_refund_id,
    paymentId: row.payment_id,
    amount: row.amount,
    currency: row.currency,
    status: row.status,
    reason: row.reason,
    processorAsOf: toAsOf(row.processor_as_of, row.processor_as_of_latest),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    revision: row.revision,
  };
}
