import type { TillList } from '../list.ts';
import { cursorList } from '../list-sources.ts';
import type { RequestOptions, WriteOptions } from '../options.ts';
import type { Api } from '../requests/api.ts';
import type {
  ChangedSubscription,
  ClientSecret,
  CreatedSubscription,
  IncludeQuery,
  NewSubscription,
  PaidSubscription,
  PreviewedSubscriptionChange,
  Subscription,
  SubscriptionCancellation,
  SubscriptionChange,
  SubscriptionChangePreview,
  SubscriptionList,
  SubscriptionPayment,
  SubscriptionQuery,
} from '../types.ts';

/** Customers' subscriptions to plans. */
export class Subscriptions {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  create(subscription: NewSubscription, options?: WriteOptions): Promise<CreatedSubscription> {
    return this.#api.post('/api/v1/subscriptions', { body: subscription }, options);
  }

  get(id: string, query: IncludeQuery = {}, options?: RequestOptions): Promise<Subscription> {
    return this.#api.get('/api/v1/subscriptions/{id}', { params: { id }, query }, options);
  }

  update(id: string, change: SubscriptionChange, options?: WriteOptions): Promise<ChangedSubscription> {
    return this.#api.patch('/api/v1/subscriptions/{id}', { params: { id }, body: change }, options);
  }

  /** What a change would cost. It changes nothing. */
  preview(
    id: string,
    change: PreviewedSubscriptionChange,
    options?: WriteOptions,
  ): Promise<SubscriptionChangePreview> {
    return this.#api.post('/api/v1/subscriptions/{id}/preview', { params: { id }, body: change }, options);
  }

  /** Ends the subscription at once. To end it with its period, update `cancelAtPeriodEnd`. */
  cancel(
    id: string,
    cancellation: SubscriptionCancellation = {},
    options?: RequestOptions,
  ): Promise<Subscription> {
    return this.#api.delete('/api/v1/subscriptions/{id}', { params: { id }, body: cancellation }, options);
  }

  /** Pays the latest invoice, which decides the status, or the one of `invoiceId`. */
  pay(id: string, payment: SubscriptionPayment = {}, options?: WriteOptions): Promise<PaidSubscription> {
    return this.#api.post('/api/v1/subscriptions/{id}/pay', { params: { id }, body: payment }, options);
  }

  /** Returns again the client secret with which the frontend confirms the open payment. */
  clientSecret(id: string, options?: WriteOptions): Promise<ClientSecret> {
    return this.#api.post('/api/v1/subscriptions/{id}/client-secret', { params: { id } }, options);
  }

  list(query: SubscriptionQuery = {}, options?: RequestOptions): TillList<Subscription, SubscriptionList> {
    return cursorList(query, (page) => this.#api.get('/api/v1/subscriptions', { query: page }, options));
  }
}
