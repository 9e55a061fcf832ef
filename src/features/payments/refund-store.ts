import type { ListPage, ListRequest } from '#core/model/list-request.ts';
import { listedKinds, type Refund } from '#core/model/refund.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import { defineTable } from '#core/platform/table.ts';
import type { List } from '#engine/mirrors/list.ts';
import { byFacet, byId, byText } from '#engine/mirrors/list-filter.ts';
import { listPage } from '#engine/mirrors/list-page.ts';
import { MirrorStore } from '#engine/mirrors/mirror-store.ts';
import { refundFields } from './refund-fields.ts';

const refundTable = defineTable<Refund>('refunds', refundFields);

const { columns } = refundTable;

/** Excludes reservations, which are not refunds yet. */
const isConfirmed = 'processor_refund_id is not null';

/** The refunds of a payment, including releases. */
const refundList: List<Refund> = {
  table: refundTable,
  only: isConfirmed,
  owner: 'paymentId',
  filters: { paymentId: byId('payment_id'), kind: byText('kind') },
};

/** Each has an index by time. */
const ofRefunds = `${isConfirmed} and kind = 'refund'`;
const ofReleases = `${isConfirmed} and kind = 'release'`;

/** The refunds of all payments, by the parameter `kind`. No counter keeps their totals. */
export const allRefundLists: Readonly<Record<(typeof listedKinds)[number], List<Refund>>> = {
  refund: listOfKind('refund', { only: ofRefunds }, `kind = 'refund'`),
  release: listOfKind('release', { only: ofReleases }, `kind = 'release'`),
  all: listOfKind('all', { parts: [ofRefunds, ofReleases] }, 'true'),
};

/** `only` selects its facets. */
function listOfKind(variant: string, rows: Pick<List<Refund>, 'only' | 'parts'>, only: string): List<Refund> {
  return {
    table: refundTable,
    variant,
    ...rows,
    filters: { status: byFacet(byText('status')), currency: byFacet(byText('currency')) },
    facets: [{ from: 'till.refunds', columns: ['currency', 'status', 'kind'], where: isConfirmed, only }],
  };
}

/** All SQL for the refunds. Lock the payment before you write a refund. */
export class RefundStore extends MirrorStore<Refund> {
  constructor() {
    super('refund', refundTable, 'processorRefundId');
  }

  findOfPayment(db: Queryable, paymentId: string): Promise<readonly Refund[]> {
    return db.query(`select ${columns} from till.refunds where payment_id = $1`, [paymentId]);
  }

  async findPaymentIntentId(db: Queryable, processorRefundId: string): Promise<string | undefined> {
    const rows = await db.query<{ id: string }>(
      `select processor_payment_intent_id as id from till.refunds join till.payments on payments.id = refunds.payment_id
       where processor_refund_id = $1`,
      [processorRefundId],
    );
    return rows[0]?.id;
  }

  /** Locks refunds by the processor's ids, and reservations by Till's ids. */
  lockAny(
    tx: Queryable,
    processorIds: readonly string[],
    ids: readonly string[],
  ): Promise<readonly Refund[]> {
    return tx.query(
      `select ${columns} from till.refunds
       where processor_refund_id = any($1) or (id = any($2::uuid[]) and processor_refund_id is null)
       order by id for no key update`,
      [processorIds, ids],
    );
  }

  /** Removes a reservation. Keeps a refund that the processor has confirmed. */
  async removeReservation(tx: Queryable, id: string): Promise<void> {
    await tx.query('delete from till.refunds where id = $1 and processor_refund_id is null', [id]);
  }

  async count(db: Queryable): Promise<number> {
    const [row] = await db.query<{ count: number }>('select count(*) as count from till.refunds');
    return row?.count ?? 0;
  }

  listAll(db: Queryable, request: ListRequest): Promise<ListPage<Refund>> {
    const kind = listedKinds.find((one) => one === request.filters['kind']) ?? 'refund';
    return listPage(db, allRefundLists[kind], request);
  }

  list(db: Queryable, paymentId: string, request: ListRequest): Promise<ListPage<Refund>> {
    const { kind, ...filters } = request.filters;
    const ofKind = kind === undefined || kind === 'all' ? {} : { kind };
    return listPage(db, refundList, { ...request, filters: { ...filters, ...ofKind, paymentId } });
  }
}
