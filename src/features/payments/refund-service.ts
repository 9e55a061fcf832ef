import { Failure } from '#core/errors.ts';
import type { IdempotencyKey } from '#core/model/idempotency-key.ts';
import type { ListPage, ListRequest } from '#core/model/list-request.ts';
import type { Refund } from '#core/model/refund.ts';
import type { OperationResult } from '#engine/idempotency/operation.ts';
import {
  type NewRefundRequest,
  type RefundContext,
  type RefundCreation,
  type RefundedPayment,
  refundCreation,
} from './refund-creation.ts';

export class RefundService {
  /** The sweeper also uses it. */
  readonly creation: RefundCreation;
  readonly #context: RefundContext;

  constructor(context: RefundContext) {
    this.#context = context;
    this.creation = refundCreation(context);
  }

  async create(
    request: NewRefundRequest,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<RefundedPayment>> {
    try {
      return await this.#create(request, key);
    } catch (error) {
      const isExceeded = error instanceof Failure && error.code === 'refund_exceeds_remaining';
      if (!isExceeded || request.amount !== null) throw error;
      // The request is for the full remaining amount, and the row was stale. The failed attempt corrected the row.
      return this.#create(request, key);
    }
  }

  async list(paymentId: string, request: ListRequest): Promise<ListPage<Refund>> {
    const { payments, store, database } = this.#context;
    await payments.read(paymentId);
    return database.read((db) => store.list(db, paymentId, request));
  }

  /** The refunds of all payments. */
  listAll(request: ListRequest): Promise<ListPage<Refund>> {
    const { database, store } = this.#context;
    return database.read((db) => store.listAll(db, request));
  }

  count(): Promise<number> {
    return this.#context.store.count(this.#context.database);
  }

  async #create(
    request: NewRefundRequest,
    key: IdempotencyKey | undefined,
  ): Promise<OperationResult<RefundedPayment>> {
    const { payments, idempotency } = this.#context;
    const payment = await payments.read(request.paymentId);
    // The payment may have succeeded although the event has not arrived yet.
    if (payment.intentStatus !== 'succeeded') await payments.correct(payment);
    return idempotency.run(this.creation, request, key);
  }
}
