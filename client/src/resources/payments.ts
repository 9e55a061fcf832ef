import type { TillList } from '../list.ts';
import { cursorList } from '../list-sources.ts';
import type { RequestOptions, WriteOptions } from '../options.ts';
import type { Api } from '../requests/api.ts';
import type {
  ClientSecret,
  CreatedPayment,
  IncludeQuery,
  NewCapture,
  NewPayment,
  NewRefund,
  Payment,
  PaymentChange,
  PaymentList,
  PaymentQuery,
  PaymentRefundQuery,
  Refund,
  RefundedPayment,
  RefundList,
  RefundQuery,
} from '../types.ts';

/** Amounts that customers pay, once or for a subscription. */
export class Payments {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Creates a payment. The frontend confirms it with `clientSecret`. */
  create(payment: NewPayment, options?: WriteOptions): Promise<CreatedPayment> {
    return this.#api.post('/api/v1/payments', { body: payment }, options);
  }

  get(id: string, query: IncludeQuery = {}, options?: RequestOptions): Promise<Payment> {
    return this.#api.get('/api/v1/payments/{id}', { params: { id }, query }, options);
  }

  update(id: string, change: PaymentChange, options?: WriteOptions): Promise<Payment> {
    return this.#api.patch('/api/v1/payments/{id}', { params: { id }, body: change }, options);
  }

  /** Captures an authorised payment: the whole amount, unless you name another one. */
  capture(id: string, capture: NewCapture = {}, options?: WriteOptions): Promise<Payment> {
    return this.#api.post('/api/v1/payments/{id}/capture', { params: { id }, body: capture }, options);
  }

  cancel(id: string, options?: WriteOptions): Promise<Payment> {
    return this.#api.post('/api/v1/payments/{id}/cancel', { params: { id } }, options);
  }

  /** Refunds what remains of a payment, unless you name an amount. */
  refund(id: string, refund: NewRefund = {}, options?: WriteOptions): Promise<RefundedPayment> {
    return this.#api.post('/api/v1/payments/{id}/refund', { params: { id }, body: refund }, options);
  }

  /** Returns again the client secret with which the frontend confirms the payment. */
  clientSecret(id: string, options?: WriteOptions): Promise<ClientSecret> {
    return this.#api.post('/api/v1/payments/{id}/client-secret', { params: { id } }, options);
  }

  /** The refunds of one payment. `till.refunds.list` has those of all payments. */
  refunds(
    id: string,
    query: PaymentRefundQuery = {},
    options?: RequestOptions,
  ): TillList<Refund, RefundList> {
    return cursorList(query, (page) =>
      this.#api.get('/api/v1/payments/{id}/refunds', { params: { id }, query: page }, options),
    );
  }

  list(query: PaymentQuery = {}, options?: RequestOptions): TillList<Payment, PaymentList> {
    return cursorList(query, (page) => this.#api.get('/api/v1/payments', { query: page }, options));
  }
}

/** The refunds of all payments. */
export class Refunds {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(query: RefundQuery = {}, options?: RequestOptions): TillList<Refund, RefundList> {
    return cursorList(query, (page) => this.#api.get('/api/v1/refunds', { query: page }, options));
  }
}
