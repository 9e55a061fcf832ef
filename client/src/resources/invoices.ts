import type { TillList } from '../list.ts';
import { cursorList } from '../list-sources.ts';
import type { RequestOptions } from '../options.ts';
import type { Api } from '../requests/api.ts';
import type {
  CursorQuery,
  IncludeQuery,
  Invoice,
  InvoiceLine,
  InvoiceLineList,
  InvoiceList,
  InvoiceQuery,
} from '../types.ts';

/** What subscriptions bill. */
export class Invoices {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  get(id: string, query: IncludeQuery = {}, options?: RequestOptions): Promise<Invoice> {
    return this.#api.get('/api/v1/invoices/{id}', { params: { id }, query }, options);
  }

  list(query: InvoiceQuery = {}, options?: RequestOptions): TillList<Invoice, InvoiceList> {
    return cursorList(query, (page) => this.#api.get('/api/v1/invoices', { query: page }, options));
  }

  /** What the invoice bills, as Stripe shows it. */
  lines(
    id: string,
    query: CursorQuery = {},
    options?: RequestOptions,
  ): TillList<InvoiceLine, InvoiceLineList> {
    return cursorList(query, (page) =>
      this.#api.get('/api/v1/invoices/{id}/lines', { params: { id }, query: page }, options),
    );
  }
}
