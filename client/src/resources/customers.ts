import type { EntitlementOptions, EntitlementReader } from '../entitlements.ts';
import type { TillList } from '../list.ts';
import { cursorList } from '../list-sources.ts';
import type { RequestOptions, WriteOptions } from '../options.ts';
import type { Api } from '../requests/api.ts';
import type {
  Customer,
  CustomerChange,
  CustomerList,
  CustomerQuery,
  Entitlements,
  NewCustomer,
} from '../types.ts';
import { CustomerPaymentMethods } from './customer-payment-methods.ts';

/** People or companies that pay you. */
export class Customers {
  readonly #api: Api;
  readonly #entitlements: EntitlementReader;

  constructor(api: Api, entitlements: EntitlementReader) {
    this.#api = api;
    this.#entitlements = entitlements;
  }

  /** Creates a customer. If one with this `externalId` and these values exists, returns it. */
  create(customer: NewCustomer, options?: WriteOptions): Promise<Customer> {
    return this.#api.post('/api/v1/customers', { body: customer }, options);
  }

  get(id: string, options?: RequestOptions): Promise<Customer> {
    return this.#api.get('/api/v1/customers/{id}', { params: { id } }, options);
  }

  update(id: string, change: CustomerChange, options?: WriteOptions): Promise<Customer> {
    return this.#api.patch('/api/v1/customers/{id}', { params: { id }, body: change }, options);
  }

  /** Cancels the customer's subscriptions, and erases the personal data. */
  delete(id: string, options?: RequestOptions): Promise<void> {
    return this.#api.remove('/api/v1/customers/{id}', { params: { id } }, options);
  }

  list(query: CustomerQuery = {}, options?: RequestOptions): TillList<Customer, CustomerList> {
    return cursorList(query, (page) => this.#api.get('/api/v1/customers', { query: page }, options));
  }

  /** The saved payment methods of a customer. */
  paymentMethods(customerId: string): CustomerPaymentMethods {
    return new CustomerPaymentMethods(this.#api, customerId);
  }

  /** What the customer may use now. */
  entitlements(id: string, options?: EntitlementOptions): Promise<Entitlements> {
    return this.#entitlements.get({ customerId: id }, options);
  }
}
