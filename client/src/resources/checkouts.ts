import type { TillList } from '../list.ts';
import { cursorList } from '../list-sources.ts';
import type { RequestOptions, WriteOptions } from '../options.ts';
import type { Api } from '../requests/api.ts';
import type {
  Checkout,
  CheckoutGetQuery,
  CheckoutList,
  CheckoutQuery,
  NewCheckout,
  OpenedCheckout,
} from '../types.ts';

/** Pages of Stripe on which customers subscribe, pay or save a card. */
export class Checkouts {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Creates a checkout. Send the buyer to `url`. */
  create(checkout: NewCheckout, options?: WriteOptions): Promise<OpenedCheckout> {
    return this.#api.post('/api/v1/checkouts', { body: checkout }, options);
  }

  /** Returns the checkout as Stripe shows it now. With `waitSeconds`, it waits while the checkout is open. */
  get(id: string, query: CheckoutGetQuery = {}, options?: RequestOptions): Promise<OpenedCheckout> {
    return this.#api.get('/api/v1/checkouts/{id}', { params: { id }, query }, options);
  }

  /** Expires an open checkout, so that the buyer can no longer complete it. */
  expire(id: string, options?: WriteOptions): Promise<OpenedCheckout> {
    return this.#api.post('/api/v1/checkouts/{id}/expire', { params: { id } }, options);
  }

  list(query: CheckoutQuery = {}, options?: RequestOptions): TillList<Checkout, CheckoutList> {
    return cursorList(query, (page) => this.#api.get('/api/v1/checkouts', { query: page }, options));
  }
}
