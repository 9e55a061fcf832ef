import type { RequestOptions, WriteOptions } from '../options.ts';
import type { Api } from '../requests/api.ts';
import type { CreatedPaymentMethod, NewPaymentMethod, PaymentMethod } from '../types.ts';

/** The saved payment methods of one customer. */
export class CustomerPaymentMethods {
  readonly #api: Api;
  readonly #params: { readonly id: string };

  constructor(api: Api, customerId: string) {
    this.#api = api;
    this.#params = { id: customerId };
  }

  /** Newest first. */
  list(options?: RequestOptions): Promise<readonly PaymentMethod[]> {
    return this.#api.get('/api/v1/customers/{id}/payment-methods', { params: this.#params }, options);
  }

  /** Begins to save a payment method. The customer confirms with the client secret in the frontend. */
  create(method: NewPaymentMethod = {}, options?: WriteOptions): Promise<CreatedPaymentMethod> {
    const call = { params: this.#params, body: method };
    return this.#api.post('/api/v1/customers/{id}/payment-methods', call, options);
  }

  /** Makes it the default for the customer and their subscriptions. */
  setDefault(paymentMethodId: string, options?: RequestOptions): Promise<PaymentMethod> {
    const call = { params: this.#params, body: { paymentMethodId } };
    return this.#api.put('/api/v1/customers/{id}/default-payment-method', call, options);
  }

  delete(paymentMethodId: string, options?: RequestOptions): Promise<void> {
    const path = '/api/v1/customers/{id}/payment-methods/{paymentMethodId}';
    return this.#api.remove(path, { params: { ...this.#params, paymentMethodId } }, options);
  }
}
